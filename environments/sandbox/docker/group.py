"""What a container's control group on this host says about all its processes, past ones too."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path("/sys/fs/cgroup")
_NANOSECONDS, _MICROSECONDS = 1_000_000_000, 1_000_000


class ControlGroup:
    """The control group of a container, version 1 or 2."""

    def __init__(self, cpu_file: Path, processes_file: Path) -> None:
        self._cpu_file = cpu_file
        self._processes_file = processes_file

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all processes, ended ones too; None once the group is gone."""
        try:
            text = self._cpu_file.read_text()
        except OSError:
            return None
        if self._cpu_file.name == "cpuacct.usage":
            return int(text) / _NANOSECONDS
        fields = dict(line.split(maxsplit=1) for line in text.splitlines())
        return int(fields["usage_usec"]) / _MICROSECONDS

    def processes(self) -> Iterator[Path]:
        """Yield the /proc folders of the processes."""
        with suppress(OSError):
            for number in self._processes_file.read_text().split():
                yield Path("/proc") / number


def control_group(inspected: Mapping[str, Any]) -> ControlGroup | None:
    """Return the group of a running container, None if its engine is not on this host.

    Args:
        inspected: The engine's answer to `inspect`.
    """
    try:
        lines = Path(f"/proc/{inspected['State']['Pid']}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for _, names, path in (line.split(":", 2) for line in lines):
        # The pid may belong to another process, if the engine is on another host.
        if inspected["Id"] not in path:
            continue
        for folder, cpu in (
            ("", "cpu.stat"),
            (names, "cpuacct.usage"),
            ("cpuacct", "cpuacct.usage"),
        ):
            place = _ROOT / folder / path.lstrip("/")
            if (place / cpu).is_file():
                return ControlGroup(place / cpu, place / "cgroup.procs")
    return None
