"""What the processes of a night take, by kind and read from outside: CPU time, and most memory."""

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS_BETWEEN_LOOKS = 0.5
_KINDS = {
    "flows.serving.server_process": "prefect server",
    "distributed.cli.dask_scheduler": "scheduler",
    "--multiprocessing-fork": "worker",
    "flows.cli.app": "flow process",
}
"""Part of a command line to the kind of process; the local scheduler is in the flow's process."""
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Processes:
    """The processes with a home in their environment, and all that they have started."""

    def __init__(self, home: Path) -> None:
        self._mark = f"NIGHTSHIFT_HOME={home}".encode()
        self._kinds: dict[int, str] = {}
        self.peaks: dict[str, float] = {}
        """By kind, the most megabytes that one process has held."""

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU seconds that each kind has used by now, with ended children."""
        used: dict[str, float] = defaultdict(float)
        for pid in sorted(int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
            with suppress(OSError):
                kind, seconds = self._seen(Path(f"/proc/{pid}"), pid)
                if kind is not None:
                    used[kind] += seconds
        return dict(used)

    def of(self, kind: str) -> list[int]:
        """Return the ids of the processes of a kind, without what they have started."""
        self.cpu_seconds()
        running = [pid for pid, found in self._kinds.items() if found == kind]
        return [pid for pid in running if self._is_of(Path(f"/proc/{pid}"), kind)]

    def _is_of(self, process: Path, kind: str) -> bool:
        with suppress(OSError):
            return self._kind(process) == kind
        return False

    def _seen(self, process: Path, pid: int) -> tuple[str | None, float]:
        # The name of the command, in brackets, may hold blanks.
        fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        seconds = sum(map(int, fields[11:15])) / _TICKS_PER_SECOND
        if pid not in self._kinds:
            kind = self._kind(process) or self._kinds.get(int(fields[1]))
            if kind is None:
                return None, seconds
            self._kinds[pid] = kind
        self._note_peak(process, self._kinds[pid])
        return self._kinds[pid], seconds

    def _kind(self, process: Path) -> str | None:
        # That of a sandboxed program may be closed to us: it is its parent's.
        with suppress(PermissionError):
            if self._mark in (process / "environ").read_bytes().split(b"\0"):
                return self._kind_by_command(process)
        return None

    @staticmethod
    def _kind_by_command(process: Path) -> str | None:
        line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return next((kind for part, kind in _KINDS.items() if part in line), None)

    def _note_peak(self, process: Path, kind: str) -> None:
        status = (process / "status").read_text(encoding="utf-8", errors="replace")
        peak = next((row for row in status.splitlines() if row.startswith("VmHWM:")), None)
        if peak is not None:
            held = round(int(peak.split()[1]) / 1024, 1)
            self.peaks[kind] = max(self.peaks.get(kind, 0.0), held)


@contextmanager
def watched(home: Path) -> Iterator[Processes]:
    """Yield the processes of a home, looked at every half second for the length of the block."""
    found, over = Processes(home), threading.Event()

    def look() -> None:
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            found.cpu_seconds()

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        over.set()
        watching.join()
