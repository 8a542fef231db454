"""Resource use of the processes of one pid namespace, read from outside through /proc."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from environments.sandbox.limits import Limit
from environments.sandbox.watching.cpu import TICKS_PER_SECOND, CpuTime, Times
from environments.sandbox.watching.unnamed import unnamed_bytes
from taskdata.schema.task import Resources

# Files on a sandbox's tmpfs cost kernel memory even when they are empty.
MAX_TEMPORARY_FILES = 20_000


@dataclass
class _Use:
    tasks: int = 0
    memory_kb: int = 0
    times: list[Times] = field(default_factory=list)


class Namespace:
    """The processes below one init process, read anew at each call."""

    def __init__(self, init_pid: int, output: Path, own_processes: int = 1) -> None:
        self._own_processes = own_processes
        self._root = Path(f"/proc/{init_pid}/root")
        self._output_device = output.stat().st_dev
        self._cpu = CpuTime(_ticks_since_boot())
        self._renewed = threading.Event()
        self.memory_left_bytes: float = 0
        """Bytes until the memory limit at the last look."""

    def exceeded(self, resources: Resources) -> Limit | None:
        """Return the limit that all processes together exceed, if any; disk is not checked.

        Our own processes inside are not counted as processes, but the few megabytes of a relay
        count as memory. While the sandbox is still being built, or is gone already, no limit is
        exceeded.
        """
        limit_kb = resources.memory_mb * 1024
        self.memory_left_bytes = limit_kb * 1024
        if not self._is_built():
            return None
        use = _Use()
        for process in self._processes():
            self._add(process, use)
        self.memory_left_bytes -= use.memory_kb * 1024
        if use.memory_kb > limit_kb and self._proportional_kb() > limit_kb:
            return "memory"
        if use.tasks > resources.processes + self._own_processes:
            return "processes"
        ticks = self._cpu.look(_ticks_since_boot(), use.times)
        if self._renewed.is_set():
            self._renewed.clear()
            self._cpu.renew()
            return None
        return "cpu" if ticks > resources.cpu_seconds * TICKS_PER_SECOND else None

    def renew_cpu_time(self) -> None:
        """Count CPU time from the next look on."""
        self._renewed.set()

    def unnamed_bytes(self) -> float:
        """Return the space on the output's disk taken by open files that have no name any more.

        Infinite if it cannot be determined, or if there are too many files in temporary folders.
        """
        if not self._is_built():
            return 0
        if self._many_temporary_files():
            return float("inf")
        return unnamed_bytes(self._processes, self._output_device)

    def _is_built(self) -> bool:
        # Before the sandbox has its own root, its /proc shows the host.
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
            use.memory_kb += _own_kb(status)
            state, *numbers = (
                (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            )
            own, waited = sum(map(int, numbers[10:12])), sum(map(int, numbers[12:14]))
            times = Times(int(process.name), int(numbers[18]), own, waited, state == "R")
            use.times.append(times)

    def _proportional_kb(self) -> int:
        """Return the memory with shared pages counted once: exact, but slow to read."""
        total = 0
        for process in self._processes():
            with contextlib.suppress(OSError):
                try:
                    rollup = _fields(process / "smaps_rollup")
                except PermissionError:
                    total += _own_kb(_fields(process / "status"))
                    continue
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


def _own_kb(status: dict[str, str]) -> int:
    """Return a process's memory with shared pages counted in full."""
    parts = ("RssAnon", "RssShmem", "VmSwap")
    return sum(int(status.get(part, "0 kB").split()[0]) for part in parts)


def _ticks_since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS_PER_SECOND


def _fields(file: Path) -> dict[str, str]:
    lines = file.read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
