from itertools import combinations
from math import dist

import plotly.graph_objects as go
import pytest

from dashboards.theme import (
    CONTROL_COLOUR,
    DARK,
    LIGHT,
    PALETTE,
    agent_styles,
    label,
    labels,
    plotly_template,
)


def channel(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def linear(colour: str) -> tuple[float, ...]:
    return tuple(channel(int(colour[i : i + 2], 16)) for i in (1, 3, 5))


SEEN_WITH = {
    "full colour vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Linear RGB as it is seen: Machado, Oliveira and Fernandes 2009, at severity 1."""
TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)


def product(matrix, vector) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def cielab(rgb) -> tuple[float, float, float]:
    shares = [v / w for v, w in zip(product(TO_XYZ, rgb), product(TO_XYZ, (1, 1, 1)), strict=True)]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance contrast."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_agents_can_be_seen_on_both_papers(scheme):
    assert [c for c in (*PALETTE, CONTROL_COLOUR) if contrast(c, scheme.paper) < 3] == []


@pytest.mark.parametrize("sight", SEEN_WITH)
def test_colours_are_told_apart_with_and_without_full_colour_vision(sight):
    seen = [
        [min(1.0, max(0.0, share)) for share in product(SEEN_WITH[sight], linear(colour))]
        for colour in (*PALETTE, CONTROL_COLOUR)
    ]
    assert min(dist(cielab(a), cielab(b)) for a, b in combinations(seen, 2)) >= 18


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
@pytest.mark.parametrize("name", ["ink", "muted", "link", "good", "bad"])
def test_text_can_be_read_on_every_background(scheme, name):
    grounds = (scheme.paper, scheme.panel, scheme.bad_panel)
    assert min(contrast(getattr(scheme, name), ground) for ground in grounds) >= 4.5


def test_eight_agents_have_colours_and_symbols_of_their_own():
    styles = agent_styles([f"agent-{i}" for i in range(8)], ()).values()
    assert len({style.colour for style in styles}) == 8
    assert len({style.symbol for style in styles}) == 8


def test_no_two_agents_look_alike():
    styles = list(agent_styles([f"agent-{i}" for i in range(64)], ()).values())
    points = [(style.colour, style.mark) for style in styles]
    bars = [(style.colour, style.pattern) for style in styles[:32]]
    assert len(set(points)) == 64
    assert len(set(bars)) == 32


def test_controls_are_grey_and_take_no_colour_from_an_agent():
    styles = agent_styles(["reference", "nop", "a", "b"], {"reference", "nop"})
    assert {styles["reference"].colour, styles["nop"].colour} == {CONTROL_COLOUR}
    assert styles["reference"].mark != styles["nop"].mark
    assert styles["a"] == agent_styles(["a"], ())["a"]


def test_an_agent_keeps_its_style_whoever_comes_after():
    assert agent_styles(["a", "b"], ())["b"] == agent_styles(["a", "b", "c"], ())["b"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<a href='javascript:x'>go</a>", "&lt;a href='javascript:x'&gt;go&lt;/a&gt;"),
        ("R&amp;D <b>", "R&amp;amp;D &lt;b&gt;"),
        ("two\nlines", "two lines"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
    ],
)
def test_a_label_is_shown_literally(text, shown):
    assert label(text) == shown


def test_a_long_label_keeps_both_ends():
    shown = label("react:provider/" + "x" * 100 + "-small", length=24)
    assert len(shown) == 24
    assert shown.startswith("react:prov")
    assert shown.endswith("-small")


def test_labels_that_would_be_equal_are_longer():
    model = ":provider/" + "x" * 60
    names = [f"function_calling+plan_{way}{model}" for way in ("first", "refine")]
    assert len(set(labels(names, 24).values())) == 2
    assert labels(["react", "nop", "nop"]) == {"react": "react", "nop": "nop"}
    assert labels([]) == {}


def test_plotly_accepts_the_templates():
    for scheme in (LIGHT, DARK):
        template = go.layout.Template(plotly_template(scheme))
        assert template.layout.font.color == scheme.ink
