"""What figures show, as tables."""

from dashboards.figures.numbers import numbers, tabled
from dashboards.site.drawing import drawn


def test_bars_beside_each_other_name_their_part_and_their_agent():
    traces = [
        {"type": "bar", "orientation": "h", "name": "a &lt;b&gt;", "x": [1, 2], "y": ["plan", "x"]},
        {"type": "bar", "orientation": "h", "name": "c", "x": [3], "y": ["leaf"], "xaxis": "x2"},
    ]
    figure = drawn(traces, 100, annotations=[{"text": "Stage"}, {"text": "Level"}])
    assert numbers(figure) == (
        ["part", "series", "at", "value"],
        [["Stage", "a <b>", "plan", 1], ["Stage", "a <b>", "x", 2], ["Level", "c", "leaf", 3]],
        (),
    )


def test_points_have_their_interval_beside_them():
    trace = {"type": "scatter", "name": "a", "x": [5, 6], "y": [0.5, None], "customdata": ["n", 7]}
    assert tabled(numbers(drawn([trace], 100))) == {
        "columns": ["series", "at", "value", "note"],
        "rows": [["a", 5, 0.5, "n"], ["a", 6, None, ""]],
        "links": (),
    }


def test_every_cell_of_a_heatmap_is_a_row():
    trace = {"type": "heatmap", "x": ["a", "b"], "y": ["task"], "z": [[1.0, None]]}
    assert numbers(drawn([trace], 100)).rows == [["task", "a", 1.0], ["task", "b", None]]


def test_a_figure_without_a_trace_has_no_rows():
    assert numbers(drawn([], 100)).rows == []
