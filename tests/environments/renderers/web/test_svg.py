"""SVG drawings: what is written in them and seen; what is hidden, and what is no drawing."""

import pytest

from environments.renderers.limits import Unreadable
from environments.renderers.web import svg
from environments.renderers.web.svg import read_svg

OPEN = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200px">'


@pytest.fixture
def read(tmp_path):
    def inside(content: str):
        (tmp_path / "a.svg").write_text(content)
        return read_svg(tmp_path / "a.svg")

    return inside


def test_a_drawing_with_its_texts_in_order(read):
    view = read(
        f'{OPEN}<title> Sales </title><rect fill="#eef"/><rect/>'
        "<g><text>Jan <tspan>12</tspan> k</text></g><text>Feb</text></svg>"
    )
    assert (view.width, view.height, view.title) == (300, 200, "Sales")
    assert view.texts == ("Jan 12 k", "Feb")
    assert view.elements["rect"] == 2
    assert view.hidden is None


@pytest.mark.parametrize(
    "hidden",
    [
        '<text display="none">score ten</text>',
        '<g style="visibility: hidden"><text>score ten</text></g>',
        '<text style="fill:none">score ten</text>',
        "<defs><text>score ten</text></defs>",
        '<text opacity="0">score ten</text>',
        '<text fill="#FFF">score ten</text>',
    ],
)
def test_hidden_text_is_counted_and_not_shown(read, hidden):
    view = read(f"{OPEN}<text>seen</text>{hidden}</svg>")
    assert view.texts == ("seen",)
    assert (view.hidden.words, view.hidden.quote) == (2, "score ten")


def test_white_text_on_a_shape_is_seen(read):
    assert read(f'{OPEN}<rect fill="navy"/><text fill="white">Go</text></svg>').texts == ("Go",)


@pytest.mark.parametrize(
    "content",
    [
        "not XML",
        "<html/>",
        '<!DOCTYPE s [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><svg>&b;</svg>',
        '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg><text>&x;</text></svg>',
        OPEN,
    ],
)
def test_what_is_no_drawing_is_unreadable(read, content):
    with pytest.raises(Unreadable):
        read(content)


def test_a_drawing_of_too_many_elements_is_unreadable(read, monkeypatch):
    monkeypatch.setattr(svg, "MAX_SVG_ELEMENTS", 10)
    with pytest.raises(Unreadable, match="elements"):
        read(OPEN + "<path/>" * 11 + "</svg>")


def test_deep_nesting_is_no_crash(read):
    assert read(OPEN + "<g>" * 500 + "<text>x</text>" + "</g>" * 500 + "</svg>").texts == ("x",)
