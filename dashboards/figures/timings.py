"""Where the night's time went."""

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from dashboards.figures.axes import NAMES_AXIS, bare, nothing_yet
from dashboards.theme import label
from taskdata.schema.run import StageReport


def timings(stages: Sequence[StageReport], colour: str) -> go.Figure:
    """Return the seconds of each stage and round, all its passes together, in order."""
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    passes: dict[tuple[str, int], int] = defaultdict(int)
    for report in stages:
        seconds[report.stage, report.round] += report.seconds
        passes[report.stage, report.round] += 1
    if not seconds:
        return nothing_yet("No stage has reported yet.")
    rounds = {round_ for _, round_ in seconds} != {0}
    figure = go.Figure(
        go.Bar(
            x=list(seconds.values()),
            y=[_name(stage, round_, rounds=rounds) for stage, round_ in seconds],
            orientation="h",
            marker={"color": colour},
            customdata=list(passes.values()),
            text=[_duration(taken) for taken in seconds.values()],
            textposition="outside",
            textfont_size=11.5,
            constraintext="none",
            cliponaxis=False,
            hovertemplate="%{y}: %{text} in %{customdata} pass(es)<extra></extra>",
        )
    )
    return bare(
        figure,
        46 + 24 * len(seconds),
        xaxis={"title": "seconds", "range": [0, 1.15 * max(seconds.values()) or 1]},
        yaxis=NAMES_AXIS,
    )


def _name(stage: str, round_: int, *, rounds: bool) -> str:
    return label(f"{stage}, round {round_}" if rounds and round_ else stage)


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
