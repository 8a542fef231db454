import pytest
from PIL import Image

from taskdata.schema.tool import ToolErrorKind

SERIES = [{"name": "cost in $", "values": [3, 1, None]}]


@pytest.mark.parametrize("kind", ["line", "bar", "scatter", "pie", "histogram"])
@pytest.mark.parametrize("size", [(1200, 800), (777, 333)])
def test_every_kind_is_drawn_in_exactly_the_asked_size(written, workspace, kind, size):
    result = written(
        "Plot",
        path="output/p.png",
        kind=kind,
        x=["Nord", "Süd", "$x_"],
        series=SERIES,
        title="Kosten, $ & €",
        x_label="region",
        width_px=size[0],
        height_px=size[1],
    )
    assert f"{size[0]} x {size[1]} pixels" in result.text
    with Image.open(workspace / "output/p.png") as image:
        assert image.size == size
        assert len(image.convert("RGB").getcolors(maxcolors=1 << 20) or ()) > 10


def test_series_differ_in_colour_and_numbers_may_be_x(written, workspace):
    series = [{"name": "a", "values": [1, 2]}, {"name": "b", "values": [2, 1]}]
    written("Plot", path="output/p.jpg", kind="bar", x=[2024, 2025], series=series)
    with Image.open(workspace / "output/p.jpg") as image:
        assert image.format == "JPEG"


def test_lengths_must_agree(run):
    result = run("Plot", path="output/p.png", kind="line", x=[1, 2], series=SERIES)
    assert result.error is ToolErrorKind.BAD_ARGUMENTS
    assert "series 'cost in $' has 3 values for 2 entries in x" in result.text


@pytest.mark.parametrize(
    ("kind", "values", "way_out"),
    [("pie", [1, -1], "0 or more"), ("pie", [0, 0], "sum above 0"), ("histogram", [None], "one")],
)
def test_what_cannot_be_drawn_is_refused(refused, kind, values, way_out):
    x = list(range(len(values)))
    series = [{"name": "s", "values": values}]
    text = refused("Plot", path="output/p.png", kind=kind, x=x, series=series)
    assert way_out in text


def test_the_ending_must_be_an_image(refused):
    text = refused("Plot", path="output/p.xlsx", kind="line", x=[1, 2, 3], series=SERIES)
    assert ".png" in text
