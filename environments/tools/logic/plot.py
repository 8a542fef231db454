"""Plot: a chart image of exact size, drawn by matplotlib without a display."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from environments.toolkit.definition import Arguments, OutputPath, ToolDefinition
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI = 100
_BAR_GROUP_WIDTH = 0.8
_MAX_TICK_LABELS = 40
_LABELS_BEFORE_ROTATION = 8


class DataSeries(Arguments):
    """One named series of numbers; null leaves a gap."""

    name: str
    values: list[float | None] = Field(min_length=1)


class PlotArguments(Arguments):
    """Arguments of Plot."""

    path: OutputPath
    kind: Literal["line", "bar", "scatter", "pie", "histogram"]
    x: list[float | str] = Field(
        default_factory=list,
        description="Numbers, or labels; one per value. Not used by a histogram.",
    )
    series: list[DataSeries] = Field(min_length=1, description="A pie has exactly one.")
    title: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    width_px: int = Field(default=1200, ge=100, le=6000)
    height_px: int = Field(default=800, ge=100, le=6000)

    @model_validator(mode="after")
    def _lengths_agree(self) -> Self:
        if self.kind == "histogram":
            return self
        for series in self.series:
            if len(series.values) != len(self.x):
                raise ValueError(
                    f"series {series.name!r} has {len(series.values)} values for "
                    f"{len(self.x)} entries in x"
                )
        if self.kind == "pie" and len(self.series) != 1:
            raise ValueError("a pie has exactly one series")
        return self


def plot(args: PlotArguments, workspace: Path) -> ToolResult:
    """Draw the chart into a PNG or JPEG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = output_file(workspace, args.path, (".png", ".jpg", ".jpeg"))
    figure = Figure(figsize=(args.width_px / _DPI, args.height_px / _DPI), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if args.kind == "pie":
        _draw_pie(axes, args)
    elif args.kind == "histogram":
        _draw_histogram(axes, args)
    else:
        _draw_against_x(axes, args)
    if args.title:
        axes.set_title(_plain(args.title))
    if args.kind != "pie":
        axes.set_xlabel(_plain(args.x_label or ""))
        axes.set_ylabel(_plain(args.y_label or ""))
        axes.grid(visible=True, alpha=0.3)
        if len(args.series) > 1:
            axes.legend()
    figure.savefig(target, dpi=_DPI)
    return ToolResult(
        text=f"Wrote {args.path}: {args.kind} chart of {len(args.series)} series, "
        f"{args.width_px} x {args.height_px} pixels."
    )


def _plain(text: str) -> str:
    """Keep matplotlib from reading `$...$` as mathematics."""
    return text.replace("$", r"\$")


def _values(series: DataSeries) -> list[float]:
    return [math.nan if value is None else value for value in series.values]


def _draw_against_x(axes: "Axes", args: PlotArguments) -> None:
    labels = [x for x in args.x if isinstance(x, str)]
    positions: list[Any] = list(range(len(args.x))) if labels or args.kind == "bar" else args.x
    width = _BAR_GROUP_WIDTH / len(args.series)
    for number, series in enumerate(args.series):
        values, name = _values(series), _plain(series.name)
        if args.kind == "line":
            axes.plot(positions, values, marker="o", label=name)
        elif args.kind == "scatter":
            axes.scatter(positions, values, label=name)
        else:
            shift = (number - (len(args.series) - 1) / 2) * width
            axes.bar([p + shift for p in positions], values, width=width, label=name)
    if labels or args.kind == "bar":
        step = math.ceil(len(positions) / _MAX_TICK_LABELS)
        rotated = len(positions) > _LABELS_BEFORE_ROTATION
        axes.set_xticks(
            positions[::step],
            [_plain(_label(x)) for x in args.x[::step]],
            rotation=45 if rotated else 0,
            ha="right" if rotated else "center",
        )


def _label(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:.12g}"


def _draw_pie(axes: "Axes", args: PlotArguments) -> None:
    values = [value or 0.0 for value in args.series[0].values]
    if min(values) < 0 or sum(values) <= 0:
        raise ToolRefused("A pie needs values of 0 or more with a sum above 0.")
    axes.pie(values, labels=[_plain(_label(x)) for x in args.x], autopct="%1.1f%%")


def _draw_histogram(axes: "Axes", args: PlotArguments) -> None:
    data = [[value for value in series.values if value is not None] for series in args.series]
    if not any(data):
        raise ToolRefused("A histogram needs at least one number.")
    axes.hist(data, bins="auto", label=[_plain(series.name) for series in args.series])


TOOLS = (
    ToolDefinition(
        name="Plot",
        description="Draw a line, bar, scatter or pie chart, or a histogram, as a PNG or JPEG.",
        category=Capability.LOGIC,
        arguments=PlotArguments,
        run=plot,
        backend="matplotlib",
        paging="Plot fewer points.",
    ),
)
