"""The most memory that each kind of process of a night took, read from outside while it runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS_BETWEEN_LOOKS = 0.5
_KINDS = {
    "flows.serving.server_process": "prefect server",
    "--multiprocessing-fork": "worker",
    "flows.cli.app": "flow process and scheduler",
}
"""Part of a command line to the kind of process; the local scheduler is in the flow's process."""


@contextmanager
def peaks_of(home: Path) -> Iterator[dict[str, float]]:
    """Yield a dict that gets, by kind, the most megabytes that one process of the home has held.

    Processes are known by the home in their environment.
    """
    peaks: dict[str, float] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            for folder in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    _note(folder, f"NIGHTSHIFT_HOME={home}".encode(), peaks)

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield peaks
    finally:
        over.set()
        watching.join()


def _note(process: Path, mark: bytes, peaks: dict[str, float]) -> None:
    if mark not in (process / "environ").read_bytes().split(b"\0"):
        return
    line = (process / "cmdline").read_bytes().decode(errors="replace")
    kind = next((kind for part, kind in _KINDS.items() if part in line), None)
    status = (process / "status").read_text(encoding="ascii", errors="replace")
    peak = next((row for row in status.splitlines() if row.startswith("VmHWM:")), None)
    if kind is not None and peak is not None:
        peaks[kind] = max(peaks.get(kind, 0.0), round(int(peak.split()[1]) / 1024, 1))
