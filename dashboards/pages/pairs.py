"""Pairs of agents, told from the one that is ahead."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from taskdata.schema.summary import AgentComparison

SIGNIFICANT = 0.05


class Pair(NamedTuple):
    """Two agents over the tasks that both were scored on."""

    ahead: str
    behind: str
    lead: float
    """Mean difference of root scores, at least 0."""
    ci95: tuple[float, float] | None
    p_value: float | None
    tasks: int
    could_be: tuple[float, float] | None = None
    """The least and the most that the lead can be, where verdicts are missing; else None."""

    @property
    def is_clear(self) -> bool:
        """Whether interval and test agree that the lead is not chance, nor missing verdicts."""
        if self.ci95 is None or self.p_value is None:
            return False
        if self.could_be is not None and self.could_be[0] <= 0:
            return False
        return self.ci95[0] > 0 and self.p_value < SIGNIFICANT


def pairs(comparisons: Sequence[AgentComparison], controls: Collection[str]) -> list[Pair]:
    """Return the pairs that have a difference: those of competing agents, then with a control."""
    known = [_pair(c, c.difference.mean) for c in comparisons if c.difference.mean is not None]
    return sorted(known, key=lambda pair: len({pair.ahead, pair.behind} & set(controls)))


def _pair(comparison: AgentComparison, difference: float) -> Pair:
    ci95, could_be = comparison.difference.ci95, comparison.difference_range
    first, second = comparison.first, comparison.second
    if difference < 0:
        first, second = second, first
        ci95 = None if ci95 is None else (-ci95[1], -ci95[0])
        could_be = None if could_be is None else (-could_be[1], -could_be[0])
    return Pair(
        ahead=second,
        behind=first,
        lead=abs(difference),
        ci95=ci95,
        p_value=comparison.p_value,
        tasks=comparison.tasks,
        could_be=could_be,
    )
