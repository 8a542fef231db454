"""Tables of how often failed trials have each label, each figure with its trials."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboards.pages import formats
from dashboards.pages.trial_filter import ANY, trials_of_group, trials_where
from taskdata.schema.failures import (
    FailureShare,
    GroupFailures,
    Grouping,
    RequirementLevel,
    RunFailures,
)

_MOST_GROUPS = 60
_TITLES = {
    Grouping.AGENT: "By agent",
    Grouping.MODEL: "By model",
    Grouping.HARNESS: "By harness",
    Grouping.CATEGORY: "By category",
    Grouping.DELIVERABLE_TYPE: "By type of deliverable",
    Grouping.LEAVES: "By leaves of the tree",
}
_LEVELS = {
    RequirementLevel.LEAF: "A: leaf",
    RequirementLevel.COMPOSITION: "B: composition",
    RequirementLevel.DELIVERABLE: "C: deliverable",
}


class Share(NamedTuple):
    """A figure in percent, with the trials behind it."""

    percent: float | None
    n: int
    of: int
    href: str | None
    """Where its trials are listed; None: there are none."""


class Row(NamedTuple):
    """One group."""

    group: str
    failed: Share
    """Failed trials of those that were scored."""
    shares: Sequence[Share]
    by_model: int
    """Number of its stages and types that a model gave where rules gave none."""


class Distribution(NamedTuple):
    """The table of one grouping: all its rows have the same columns."""

    by: Grouping
    title: str
    columns: Mapping[str, Sequence[str]]
    """Names of columns under their common heading."""
    rows: Sequence[Row]
    left_out: int
    """Groups that are in no row, because there are too many."""


def distributions(
    failures: RunFailures, agents: Sequence[str] = (), page: str = ""
) -> list[Distribution]:
    """Return the tables of stage, type and level of requirements by each grouping.

    Columns without any trial are left out, and groupings without a group.

    Args:
        failures: The run's.
        agents: Names of agents in the order of their rows; others stand after them.
        page: Address of the run's page, as seen from the page with the tables; empty: the same.
    """
    stages = _occurring(failures, "stage")
    types = _occurring(failures, "type")
    columns = {
        "Stage of failed trials": [formats.words(name) for name in stages],
        "Type of failed trials": [formats.words(name) for name in types],
        "Requirements that do not hold": list(_LEVELS.values()),
    }
    return [
        Distribution(
            by,
            _TITLES[by],
            {heading: names for heading, names in columns.items() if names},
            [_row(by, group, stages, types, page) for group in _ordered(groups, agents)],
            max(0, len(groups) - _MOST_GROUPS),
        )
        for by in _TITLES
        if (groups := failures.groups.get(by, ()))
    ]


def _ordered(groups: Sequence[GroupFailures], names: Sequence[str]) -> list[GroupFailures]:
    place = {name: number for number, name in enumerate(names)}
    return sorted(groups, key=lambda one: place.get(one.group, len(place)))[:_MOST_GROUPS]


def _occurring(failures: RunFailures, kind: str) -> list[str]:
    found = [g.labels[kind] for g in failures.groups.get(Grouping.AGENT, ())]
    names = dict.fromkeys(name for labels in found for name in labels)
    return [name for name in names if any(labels[name].n for labels in found)]


def _row(
    by: Grouping, group: GroupFailures, stages: Sequence[str], types: Sequence[str], page: str
) -> Row:
    where = trials_of_group(by, group.group)

    def share(found: FailureShare, count: int | None, **condition: str) -> Share:
        href = trials_where(where | condition, count, page) if found.n else None
        return Share(found.percent, found.n, found.of, href)

    failed = FailureShare(n=min(group.failed, group.scored), of=group.scored)
    return Row(
        group.group,
        share(failed, group.failed, stage=ANY),
        [
            *(
                share(
                    group.labels["stage"][name],
                    group.labels["stage"][name].n,
                    stage=formats.words(name),
                )
                for name in stages
            ),
            *(
                share(group.labels["type"][name], group.labels["type"][name].n, type=name)
                for name in types
            ),
            # Requirements are counted, and their trials are fewer.
            *(share(group.requirements[level], None, failed=level.value) for level in _LEVELS),
        ],
        sum(n for kind in ("stage", "type") for n in group.of_model.get(kind, {}).values()),
    )
