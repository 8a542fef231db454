"""Whether the agents that only show that tasks are sound did what they must."""

from typing import Protocol

from dashboards.pages import formats
from taskdata.schema.ranking import MUST_SCORE

_SLACK = 1e-9


class Reached(Protocol):
    """What an agent reached, in a night or on one task of it."""

    @property
    def score(self) -> float | None:
        """Mean root score, 0-10."""

    @property
    def decided(self) -> int:
        """Trials that succeeded or did not."""

    @property
    def succeeded(self) -> int:
        """Trials that succeeded."""


def control_trouble(agent: str, reached: Reached) -> str | None:
    """Return what a control fell short of, as the end of a sentence about it; None: nothing.

    `reference` must succeed wherever that is decided, by the success rule of the run: a judge who
    gives it 9 of 10 proves no task broken. The gate `trial_scores` holds what code verifies to
    full scores. `nop` must have next to no score.
    """
    if agent == "reference":
        if reached.succeeded == reached.decided:
            return None
        trials = formats.plural(reached.decided, "trial")
        return f"succeeded in {reached.succeeded} of {trials} and must in all"
    if agent not in MUST_SCORE or reached.score is None:
        return None
    highest = MUST_SCORE[agent][1]
    if reached.score <= highest + _SLACK:
        return None
    return f"has {formats.score(reached.score)} and must have at most {highest:g}"
