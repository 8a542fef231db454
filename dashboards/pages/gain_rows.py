"""The rows of a run's tables on refinement."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboards.pages.trial_filter import trials_where
from taskdata.schema.summary import RefinementGain, Regression

WORST_SHOWN = 3
"""Leaves that got worse, of each agent, arm and round."""


class GainRow(NamedTuple):
    """What an arm has changed by the end of a round."""

    gain: RefinementGain
    trials: str
    """Where the page lists the attempts of the round."""

    @property
    def worst(self) -> Sequence[Regression]:
        """The largest losses of leaves."""
        return self.gain.regressions.top[:WORST_SHOWN]


def gain_rows(gains: Sequence[RefinementGain]) -> list[GainRow]:
    """Return one row for each agent, arm and round."""
    return [GainRow(gain, _attempts(gain)) for gain in gains]


def _attempts(gain: RefinementGain) -> str:
    conditions = {"agent": gain.agent, "arm": gain.arm, "round": str(gain.round)}
    return trials_where(conditions, gain.attempts)
