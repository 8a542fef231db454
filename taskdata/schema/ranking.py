"""The order in which agents are shown: those that compete by their score, then the controls."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from taskdata.schema.summary import AgentSummary

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
