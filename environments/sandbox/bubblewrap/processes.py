"""What the processes of one pid namespace use, read from outside through their own /proc."""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environments.sandbox.limits import MEGABYTE, Limit
from taskdata.schema.task import Resources

# Files on a sandbox's own tmpfs cost kernel memory even when empty.
MAX_TEMPORARY_FILES = 20_000
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class _Use:
    tasks: int = 0
    cpu_ticks: int = 0
    memory_kb: int = 0
    unlinked_bytes: int = 0


class Namespace:
    """The processes below one init process; `exceeded` looks at them again at each call."""

    def __init__(self, init_pid: int, output: Path, own_processes: int = 1) -> None:
        self._own_processes = own_processes
        self._root = Path(f"/proc/{init_pid}/root")
        self._output_device = output.stat().st_dev

    def exceeded(self, resources: Resources) -> Limit | None:
        """Return the limit that all processes together are above, if any.

        Our own processes inside do not count as tasks, and a relay's memory of a few megabytes
        does. While the sandbox is still being built, or is gone already, nothing is above a limit.
        """
        if not self._is_built():
            return None
        use = _Use()
        for process in self._processes():
            self._add(process, use)
        if use.tasks > resources.processes + self._own_processes:
            return "processes"
        if use.cpu_ticks > resources.cpu_seconds * _TICKS_PER_SECOND:
            return "cpu"
        limit_kb = resources.memory_mb * 1024
        if use.memory_kb > limit_kb and self._proportional_kb() > limit_kb:
            return "memory"
        if use.unlinked_bytes > resources.disk_mb * MEGABYTE or self._many_temporary_files():
            return "disk"
        return None

    def _is_built(self) -> bool:
        # Before the sandbox has its own root, its /proc is the host's.
        try:
            return (self._root / "proc").stat().st_dev != os.stat("/proc").st_dev
        except OSError:
            return False

    def _processes(self) -> Iterator[Path]:
        try:
            names = os.listdir(self._root / "proc")
        except OSError:
            return
        for name in names:
            if name.isdigit():
                yield self._root / "proc" / name

    def _add(self, process: Path, use: _Use) -> None:
        # A process may end between two reads.
        with contextlib.suppress(OSError):
            status = _fields(process / "status")
            use.tasks += int(status.get("Threads", "0"))
            use.memory_kb += sum(
                int(status.get(part, "0 kB").split()[0])
                for part in ("RssAnon", "RssShmem", "VmSwap")
            )
            after_name = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            # utime, stime, and those of children waited for
            use.cpu_ticks += sum(int(ticks) for ticks in after_name[11:15])
            use.unlinked_bytes += self._unlinked_bytes(process)

    def _unlinked_bytes(self, process: Path) -> int:
        """Return the size on disk of open files without a name, which no walk would find."""
        total = 0
        for number in os.listdir(process / "fd"):
            with contextlib.suppress(OSError):
                file = os.stat(process / "fd" / number)
                if (
                    file.st_nlink == 0
                    and stat.S_ISREG(file.st_mode)
                    and file.st_dev == self._output_device
                ):
                    total += file.st_blocks * 512
        return total

    def _proportional_kb(self) -> int:
        """Return the memory with shared pages counted once: exact, but slow to read."""
        total = 0
        for process in self._processes():
            with contextlib.suppress(OSError):
                rollup = _fields(process / "smaps_rollup")
                total += sum(
                    int(rollup.get(part, "0 kB").split()[0])
                    for part in ("Pss_Anon", "Pss_Shmem", "SwapPss")
                )
        return total

    def _many_temporary_files(self) -> bool:
        for folder in ("tmp", "dev/shm"):
            with contextlib.suppress(OSError):
                room = os.statvfs(self._root / folder)
                if room.f_files - room.f_ffree > MAX_TEMPORARY_FILES:
                    return True
        return False


def _fields(file: Path) -> dict[str, str]:
    lines = file.read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
