"""The order in which agents are shown: those that compete by their score, then the controls."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from taskdata.schema.summary import AgentComparison, AgentSummary, RunSummary

MUST_SCORE: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"reference": (10.0, 10.0), "nop": (0.0, 1.0)}
)
"""Lowest and highest root score of a control where tasks and scoring are sound."""


def ranked(agents: Sequence[AgentSummary]) -> list[AgentSummary]:
    """Return the agents that compete, the highest root score first.

    Of equal scores, the higher success rate is first, then the one that the run names first. An
    agent without a score is last.
    """
    return sorted((a for a in agents if not a.is_control), key=_rank)


def controls(agents: Sequence[AgentSummary]) -> list[AgentSummary]:
    """Return the controls, the highest root score first."""
    return sorted((a for a in agents if a.is_control), key=_rank)


def _rank(agent: AgentSummary) -> tuple[bool, float, float]:
    score = agent.root_score.mean
    return score is None, -(score or 0.0), -(agent.root_sr or 0.0)


class Standing(NamedTuple):
    """An agent's place."""

    summary: AgentSummary
    best: int
    worst: int

    @property
    def rank(self) -> str:
        """Return the ranks that the night leaves open."""
        return str(self.best) if self.best == self.worst else f"{self.best} to {self.worst}"


def standings(summary: RunSummary) -> list[Standing]:
    """Return the competing agents by score, each with the ranks that the night leaves open.

    An agent is surely ahead of another where the 95 % interval of their difference, paired by
    task, lies on its side of zero; whoever is neither ahead nor behind may hold either place. The
    intervals hold for each pair, not for all pairs at once.
    """
    competing = [agent for agent in ranked(summary.agents) if agent.root_score.mean is not None]
    names = {agent.agent for agent in competing}
    ahead, behind = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for comparison in summary.comparisons:
        winner = _winner(comparison)
        if winner is None or not {comparison.first, comparison.second} <= names:
            continue
        loser = comparison.first if winner == comparison.second else comparison.second
        behind[winner] += 1
        ahead[loser] += 1
    last = len(competing)
    return [Standing(a, 1 + ahead[a.agent], last - behind[a.agent]) for a in competing]


def _winner(comparison: AgentComparison) -> str | None:
    interval = comparison.difference.ci95
    if interval is None or interval[0] <= 0 <= interval[1]:
        return None
    return comparison.second if interval[0] > 0 else comparison.first
