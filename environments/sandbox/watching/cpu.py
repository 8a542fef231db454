"""The CPU time of a tree of processes, also of those that came and went between two looks."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_CPUS = os.cpu_count() or 1
# Below this age, ticks are too coarse to tell which part of it a process has run.
_SHORTEST_AGE = 2


@dataclass(frozen=True)
class Times:
    """What the kernel says of one process; all in ticks."""

    pid: int
    started: int
    """After boot."""
    own: int
    """Of its threads."""
    waited: int
    """Of the children that it has waited for, and of theirs."""
    runs: bool
    """It was running, or could have been, when it was looked at."""


@dataclass
class CpuTime:
    """Adds up the looks at a tree.

    There are two ways to count, and each misses something. What all processes and the children
    they have waited for have used is exact, but lacks children of those that ignore SIGCHLD,
    which nobody waits for. What each process was seen to use lacks those that nobody saw, so one
    that is seen for the first time stands for the others that lived as shortly. The larger counts.
    """

    looked_at: float
    """When the tree was looked at last, or started, in ticks after boot."""
    _known: dict[tuple[int, int], int] = field(default_factory=dict)
    _seen: float = 0.0
    _inherited: int = 0
    _forgiven: float = 0.0

    def look(self, at: float, processes: Sequence[Times]) -> float:
        """Return the ticks used until now, given all processes there are."""
        interval, self.looked_at = at - self.looked_at, at
        known = {}
        for process in processes:
            key = (process.pid, process.started)
            known[key] = process.own
            before = self._known.get(key)
            if before is None:
                self._seen += _first_seen(process, at, interval)
            else:
                self._seen += max(0, process.own - before)
        self._known = known
        total = sum(process.own + process.waited for process in processes)
        self._inherited = max(self._inherited, total)
        return self._total() - self._forgiven

    def renew(self) -> None:
        """Count from the last look on."""
        self._forgiven = self._total()

    def _total(self) -> float:
        return max(self._seen, self._inherited)


def _first_seen(process: Times, at: float, interval: float) -> float:
    """Return the ticks of the interval that a new process stands for.

    Of those that live for a tenth of the interval one in ten is seen, so the one that is counts for
    ten: for the whole interval, at the share of a core that it has used.
    """
    age = at - process.started
    if age >= interval:
        return process.own
    share = process.own / age if age >= _SHORTEST_AGE else float(process.runs)
    return interval * min(share, _CPUS)
