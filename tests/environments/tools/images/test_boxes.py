import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.tools.images.boxes import Box, read_box, read_point
from taskdata.errors import ToolRefused

SIZE = (200, 100)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("(10, 20, 60, 80)", (10, 20, 60, 80)),
        ("10,20,60,80", (10, 20, 60, 80)),
        ("[60 80 10 20]", (10, 20, 60, 80)),
        ("(-5, 90.2, 300, 120)", (0, 90, 200, 100)),
    ],
)
def test_a_box_is_four_numbers_cut_to_the_picture(text, box):
    assert read_box(text, SIZE) == box


@pytest.mark.parametrize("text", ["", "(1, 2, 3)", "1 2 3 4 5", "left 1, 2, 3, 4", "1e5,2,3,4"])
def test_what_is_no_box_is_refused_with_an_example(text):
    with pytest.raises(ToolRefused, match=r"\(10, 20, 200, 120\)"):
        read_box(text, SIZE)


@pytest.mark.parametrize("text", ["(300, 10, 400, 50)", "(10, 10, 10, 50)", "(0.1, 0.2, 0.5, 0.6)"])
def test_a_box_that_holds_nothing_is_refused_with_the_size(text):
    with pytest.raises(ToolRefused, match="200 x 100 pixels"):
        read_box(text, SIZE)


@given(
    left=st.integers(0, 198),
    top=st.integers(0, 98),
    width=st.integers(2, 200),
    height=st.integers(2, 100),
)
def test_a_box_reads_as_it_is_written(left, top, width, height):
    box = Box(left, top, min(left + width, 200), min(top + height, 100))
    assert read_box(str(box), SIZE) == box


@given(st.text(max_size=100))
def test_any_text_is_a_box_or_refused(text):
    try:
        box = read_box(text, SIZE)
    except ToolRefused:
        return
    assert 0 <= box.left < box.right <= 200
    assert 0 <= box.top < box.bottom <= 100


def test_points():
    assert read_point("(12, 99.6)", SIZE) == (12, 100)
    assert read_point("mt", SIZE) is None
    with pytest.raises(ToolRefused, match="outside the image"):
        read_point("(201, 5)", SIZE)
