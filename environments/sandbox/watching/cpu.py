"""The CPU time of a process tree, including processes that ended between two looks."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_CPUS = os.cpu_count() or 1
# Below this age, ticks are too coarse to tell how long a process has run.
_SHORTEST_AGE = 2


@dataclass(frozen=True)
class Times:
    """The kernel's figures about one process; all in ticks."""

    pid: int
    started: int
    """Start time after boot."""
    own: int
    """CPU time of the process's threads."""
    waited: int
    """CPU time of the children that the process has waited for, and of their children."""
    runs: bool
    """The process was running or ready to run at the time of the look."""


@dataclass
class CpuTime:
    """Adds up the looks at a process tree.

    CPU time is counted in two ways, and each misses something. The sum over all processes and the
    children they have waited for is exact, but lacks the children of processes that ignore SIGCHLD,
    because nobody waits for them. The sum over the processes that were seen lacks those that ended
    between two looks, so a process that is seen for the first time stands for others as short-lived
    as itself. The larger of the two counts.
    """

    looked_at: float
    """Time of the last look, or of the start, in ticks after boot."""
    _known: dict[tuple[int, int], int] = field(default_factory=dict)
    _seen: float = 0.0
    _inherited: int = 0
    _forgiven: float = 0.0

    def look(self, at: float, processes: Sequence[Times]) -> float:
        """Return the ticks used until now, given all processes that exist."""
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

    Of processes that live for a tenth of the interval, one in ten is seen. So the one that is seen
    counts for ten: for the whole interval, at the share of a core that it has used.
    """
    age = at - process.started
    if age >= interval:
        return process.own
    share = process.own / age if age >= _SHORTEST_AGE else float(process.runs)
    return interval * min(share, _CPUS)
