from itertools import combinations

import plotly.graph_objects as go
import pytest

from dashboards.theme import DARK, LIGHT, PALETTE, agent_styles, label, plotly_template


def channel(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    red, green, blue = (channel(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance contrast."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_agents_can_be_seen_on_both_papers(scheme):
    assert [c for c in PALETTE if contrast(c, scheme.paper) < 3] == []


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
@pytest.mark.parametrize("name", ["ink", "muted", "link", "good", "bad"])
def test_text_can_be_read_on_every_background(scheme, name):
    grounds = (scheme.paper, scheme.panel, scheme.bad_panel)
    assert min(contrast(getattr(scheme, name), ground) for ground in grounds) >= 4.5


def test_no_two_agents_look_alike():
    styles = agent_styles([f"agent-{i}" for i in range(20)]).values()
    assert all((a.colour, a.pattern) != (b.colour, b.pattern) for a, b in combinations(styles, 2))


def test_an_agent_keeps_its_style_whoever_comes_after():
    assert agent_styles(["a", "b"])["b"] == agent_styles(["a", "b", "c"])["b"]


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


def test_plotly_accepts_the_templates():
    for scheme in (LIGHT, DARK):
        template = go.layout.Template(plotly_template(scheme))
        assert template.layout.font.color == scheme.ink
