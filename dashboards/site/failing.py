"""Why trials fail: causes over the nights, stages, types and levels of the latest one."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dashboards.figures.axes import NAMES_AXIS
from dashboards.figures.failures import PANELS, failures
from dashboards.figures.numbers import Cell, Table
from dashboards.pages import formats
from dashboards.pages.trial_filter import COMPETING, trials_where
from dashboards.site.document import Link
from dashboards.site.drawing import Drawing, as_json, drawn, empty
from dashboards.site.history import History, NightRow
from dashboards.site.tool_failures import tool_drawings
from dashboards.site.trends import moment, nights_axis
from dashboards.theme import PALETTE, PATTERNS, label
from taskdata.schema.diagnosis import FailureStage
from taskdata.schema.night import INFRASTRUCTURE, FailureCluster
from taskdata.schema.summary import RunSummary

_MOST_CLUSTERS = 30
_COLOURS = "Cividis"
_LINK = Link()


class ClusterRow(NamedTuple):
    """A cause with the nights that had it."""

    cluster: FailureCluster
    """As the last of these nights has it."""
    first: NightRow
    last: NightRow
    nights: int
    """How many had it."""
    is_gone: bool
    """Whether the latest night does not have it."""


def cluster_rows(history: History) -> list[ClusterRow]:
    """Return the causes of all nights: those of the latest, the largest first, then gone ones.

    A cluster that counts several causes is the one that had any of them before.
    """
    seen: dict[str, list[NightRow]] = defaultdict(list)
    for night in history.nights:
        for cluster in night.clusters:
            for key in cluster.keys:
                seen[key].append(night)
    rows: list[ClusterRow] = []
    told: set[str] = set()
    for night in reversed(history.nights):
        for cluster in night.clusters:
            if told.isdisjoint(cluster.keys):
                had = {id(n): n for key in cluster.keys for n in seen[key]}
                nights = sorted(had.values(), key=lambda n: n.created_at)
                is_gone = night is not history.nights[-1]
                rows.append(ClusterRow(cluster, nights[0], night, len(nights), is_gone))
            told |= cluster.keys
    return sorted(
        rows, key=lambda r: (r.is_gone, -r.last.created_at.timestamp(), -r.cluster.trials)
    )


def failure_drawings(history: History, summary: RunSummary | None) -> dict[str, Drawing]:
    """Return the figures of the failures page.

    Args:
        history: All nights.
        summary: The latest night's numbers; None: its labels are not drawn.
    """
    found = {"causes": _causes(history), "stages": _stages(history)}
    if summary is not None:
        found["labels"] = _labels(history, summary)
    return found | tool_drawings(history)


def _causes(history: History) -> Drawing:
    title = "Causes over the nights"
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    titles: dict[str, str] = {}
    trials: dict[tuple[str, int], str] = {}
    for place, night in enumerate(history.nights):
        for cluster in night.clusters:
            counts[cluster.key][place] = cluster.trials
            titles[cluster.key] = cluster.title
            trials[cluster.key, place] = _LINK.cluster(night.run_id, cluster)
    if not counts:
        return Drawing(title, empty("No failure has a label."), Table((), ()))
    nights, last = history.nights, len(history.nights) - 1
    keys = sorted(counts, key=lambda key: (-counts[key].get(last, 0), -sum(counts[key].values())))
    shown = keys[:_MOST_CLUSTERS]
    heat = _heat(nights, shown, counts, titles, trials)
    step = max(1, len(nights) // 12)
    ticks = list(range(len(nights) - 1, -1, -step))
    figure = drawn(
        [heat],
        70 + 24 * len(shown),
        xaxis={
            "tickvals": ticks,
            "ticktext": [f"{nights[place].created_at:%e %b}" for place in ticks],
            "showgrid": False,
        },
        yaxis=NAMES_AXIS
        | {
            "type": "linear",
            "tickvals": heat["y"],
            "ticktext": [f"{label(titles[key], 48)} " for key in shown],
        },
    )
    note = f"The {len(shown)} largest of {len(keys)}." if len(keys) > len(shown) else ""
    return Drawing(
        title, figure, _causes_table(history, {key: counts[key] for key in shown}, titles), note
    )


def _heat(
    nights: Sequence[NightRow],
    shown: Sequence[str],
    counts: Mapping[str, Mapping[int, int]],
    titles: Mapping[str, str],
    trials: Mapping[tuple[str, int], str],
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        # Positions, not days or names: two nights may share a day, two long titles a label.
        "x": list(range(len(nights))),
        "y": list(range(len(shown))),
        "z": [[counts[key].get(place) for place in range(len(nights))] for key in shown],
        "xgap": 1,
        "ygap": 2,
        "colorscale": _COLOURS,
        "zmin": 0,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "title": {"text": "trials"}},
        "customdata": [
            [
                [f"{label(night.run_id)}<br>{label(titles[key], 80)}", trials.get((key, place))]
                for place, night in enumerate(nights)
            ]
            for key in shown
        ],
        "hovertemplate": "%{customdata[0]}<br>%{z} trials<extra></extra>",
        "hoverongaps": False,
    }


def _causes_table(
    history: History, counts: Mapping[str, Mapping[int, int]], titles: Mapping[str, str]
) -> Table:
    rows: list[list[Cell]] = [
        [history.nights[place].run_id, titles[key], trials]
        for key, own in counts.items()
        for place, trials in own.items()
    ]
    links = [_LINK.morning(str(row[0])) for row in rows]
    return Table(("night", "cause", "trials"), rows, links)


def _stages(history: History) -> Drawing:
    title = "Failed trials by stage"
    tallies = [Counter[str]() for _ in history.nights]
    for tally, night in zip(tallies, history.nights, strict=True):
        for cluster in night.clusters:
            tally.update(cluster.by_stage)
    found = {stage for tally in tallies for stage in tally}
    known = [stage.value for stage in FailureStage]
    stages = [s for s in known if s in found] + sorted(found - set(known))
    if not stages:
        return Drawing(title, empty("No failure has a label."), Table((), ()))
    nights = history.nights
    data = [_stage_bars(place, stage, nights, tallies) for place, stage in enumerate(stages)]
    figure = drawn(
        data,
        300,
        barmode="stack",
        xaxis=nights_axis(nights),
        yaxis={"title": "trials", "rangemode": "tozero"},
        showlegend=True,
        legend={"orientation": "h", "y": 1.12},
        margin={"l": 8, "r": 18, "t": 34, "b": 44},
    )
    rows: list[list[Cell]] = [
        [night.run_id, moment(night), *(tally[stage] for stage in stages)]
        for night, tally in zip(nights, tallies, strict=True)
    ]
    links = [_LINK.morning(night.run_id) for night in nights]
    return Drawing(title, figure, Table(("night", "started", *stages), rows, links))


def _stage_bars(
    place: int, stage: str, nights: Sequence[NightRow], tallies: Sequence[Counter[str]]
) -> dict[str, Any]:
    pattern = PATTERNS[place // len(PALETTE) % len(PATTERNS)]
    return {
        "type": "bar",
        "name": label(formats.words(stage)),
        "x": [moment(night) for night in nights],
        "y": [tally[stage] for tally in tallies],
        "marker": {"color": PALETTE[place % len(PALETTE)], "pattern": {"shape": pattern}},
        "customdata": [[label(n.run_id), _trials_of_stage(n, stage)] for n in nights],
        "hovertemplate": f"{label(formats.words(stage))}: %{{y}} trials<br>%{{customdata[0]}}"
        "<extra></extra>",
    }


def _trials_of_stage(night: NightRow, stage: str) -> str:
    where = {"verdict": stage} if stage == INFRASTRUCTURE else {"stage": formats.words(stage)}
    return trials_where(COMPETING | where, page=_LINK.run(night.run_id))


def _labels(history: History, summary: RunSummary) -> Drawing:
    rows: list[list[Cell]] = [
        [agent.agent, kind, name, trials]
        for agent in summary.agents
        for kind, labels in agent.failures.items()
        for name, trials in labels.items()
    ]
    styles = {agent.agent: history.styles[agent.agent] for agent in summary.agents}
    columns = ("agent", "kind of label", "label", "trials")
    panels = "; ".join(PANELS.values()).lower()
    note = (
        f"First attempts of the latest night: {panels}. The table also has the labels of tool use, "
        "of long runs and of arguments."
    )
    figure = as_json(failures(summary.agents, styles, _LINK.run(summary.run.id)))
    return Drawing("Failure labels of the latest night", figure, Table(columns, rows), note)
