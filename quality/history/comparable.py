"""Which nights may be compared, over which tasks, and what differs between two nights."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from taskdata.schema.night import Night, NightCell

BASELINE_NIGHTS = 7
"""A night is compared with at most so many comparable ones before it, the newest."""

_MUST_AGREE = ("judge", "tool_backends", "threshold", "min_coverage", "scorer_version")
_NAMED = (
    "bank",
    "release_hash",
    "selection",
    *_MUST_AGREE,
    "sandbox",
    "repetitions",
    "refinement_rounds",
    "code_version",
)
_HASH_SHOWN = 12

Cells = Mapping[str, NightCell]
"""The cells of one agent by task id."""


@dataclass(frozen=True)
class Baseline:
    """The nights that one agent of a night is compared with."""

    agent: str
    nights: tuple[Night, ...]
    """Newest first; none: there is nothing to compare with."""
    tasks: tuple[str, ...]
    """Ids of the tasks that the night and at least one of these have alike."""
    has_other_tasks: bool = False
    """Whether these nights had another selection or release: the rest of the tasks is left out."""


def differing(before: Night, after: Night) -> dict[str, tuple[str, str]]:
    """Return what differs in the settings of two nights, as words, by the setting's name."""
    one, other = before.settings, after.settings
    found = {
        name: (_words(getattr(one, name)), _words(getattr(other, name)))
        for name in _NAMED
        if getattr(one, name) != getattr(other, name)
    }
    found |= _by_agent("settings of", one.agents, other.agents, _HASH_SHOWN)
    both = one.agents.keys() & other.agents.keys()
    return found | _by_agent("model of", _of(one.model_ids, both), _of(other.model_ids, both))


def baseline_of(night: Night, history: Iterable[Night], agent: str) -> Baseline:
    """Return the nights before `night` that `agent` can be compared with.

    These have the same judge, tools' services, success rule and scorer, and an agent of the same
    specification. Where some of them are of the same release, only those count; else those with
    other tasks do, over the tasks whose content is the same.

    Args:
        night: The night to compare.
        history: Other nights in any order; later ones and confirming re-runs are left out.
        agent: Name of the agent.
    """
    fitting = [n for n in earlier(night, history) if _is_fitting(night, n, agent)]
    same = [n for n in fitting if n.settings.release_hash == night.settings.release_hash]
    ours = night.scored_tasks.get(agent, {}).items()
    alike = ((n, ours & n.scored_tasks.get(agent, {}).items()) for n in same or fitting)
    chosen = tuple(islice(((n, tasks) for n, tasks in alike if tasks), BASELINE_NIGHTS))
    tasks = sorted({task for _, found in chosen for task, _ in found})
    return Baseline(agent, tuple(n for n, _ in chosen), tuple(tasks), not same)


def earlier(night: Night, history: Iterable[Night]) -> list[Night]:
    """Return the nights before `night`, newest first, without confirming re-runs."""
    before = (n for n in history if n.confirms is None and _order(n) < _order(night) and n.cells)
    return sorted(before, key=_order, reverse=True)


def cells_of(night: Night, agent: str) -> Cells:
    """Return the agent's cells by task id."""
    return night.cells_by_agent.get(agent, {})


def _is_fitting(night: Night, other: Night, agent: str) -> bool:
    ours, theirs = night.settings, other.settings
    if any(getattr(ours, name) != getattr(theirs, name) for name in _MUST_AGREE):
        return False
    return ours.agents.get(agent) == theirs.agents.get(agent) is not None


def _order(night: Night) -> tuple[float, str]:
    return night.created_at.timestamp(), night.run_id


def _by_agent(
    what: str, one: Mapping[str, str], other: Mapping[str, str], shown: int | None = None
) -> dict[str, tuple[str, str]]:
    return {
        f"{what} {agent}": (_words(one.get(agent))[:shown], _words(other.get(agent))[:shown])
        for agent in sorted(one.keys() | other.keys())
        if one.get(agent) != other.get(agent)
    }


def _of(models: Mapping[str, str], agents: Collection[str]) -> dict[str, str]:
    return {agent: model for agent, model in models.items() if agent in agents}


def _words(value: object) -> str:
    return "none" if value is None or value == "" else str(value)
