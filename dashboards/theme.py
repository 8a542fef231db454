"""How figures and pages look: one colour per agent, two colour schemes, safe labels."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from dashboards.visible_text import visible

PALETTE = ("#3a78d6", "#d3764b", "#20a882", "#9f4384", "#b33a42")
"""Distinct also with protanopia, deuteranopia and tritanopia (CIELAB distance above 19), and
readable as graphics on both papers (contrast above 3)."""
SYMBOLS = (
    ("circle", "●"),
    ("diamond", "◆"),
    ("square", "■"),
    ("triangle-up", "▲"),
    ("cross", "✚"),
    ("star", "★"),
)
"""Markers in figures, by Plotly's name, and the same in text."""
PATTERNS = ("", "/", ".", "x")
"""Fill of bars; the next one whenever the palette starts again."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SCORES = "Cividis"
"""Colour scale of scores 0-10: monotone in lightness, made for colour-blind readers."""


class AgentStyle(NamedTuple):
    """How one agent looks in every figure and table."""

    colour: str
    symbol: str
    """Plotly's name of the marker."""
    mark: str
    """The marker in text."""
    pattern: str


class Scheme(NamedTuple):
    """Colours of the page in one colour scheme."""

    paper: str
    panel: str
    ink: str
    muted: str
    line: str
    link: str
    good: str
    bad: str
    bad_panel: str


LIGHT = Scheme(
    paper="#ffffff",
    panel="#f6f7f9",
    ink="#1b1f24",
    muted="#5a6472",
    line="#dde1e7",
    link="#1f5fbf",
    good="#1a7f4b",
    bad="#b3261e",
    bad_panel="#fdf1ef",
)
DARK = Scheme(
    paper="#15181d",
    panel="#1d2127",
    ink="#e6e9ee",
    muted="#a0a9b6",
    line="#333a44",
    link="#8ab4f8",
    good="#5cc98f",
    bad="#ff8a80",
    bad_panel="#2c1d1e",
)


def agent_styles(agents: Sequence[str]) -> dict[str, AgentStyle]:
    """Return the style of each agent; no two of the first twenty look the same as bars."""
    return {
        agent: AgentStyle(
            colour=PALETTE[i % len(PALETTE)],
            symbol=SYMBOLS[i % len(SYMBOLS)][0],
            mark=SYMBOLS[i % len(SYMBOLS)][1],
            pattern=PATTERNS[i // len(PALETTE) % len(PATTERNS)],
        )
        for i, agent in enumerate(agents)
    }


def bar_marker(style: AgentStyle) -> dict[str, Any]:
    """Return the Plotly marker of an agent's bars."""
    return {"color": style.colour, "pattern": {"shape": style.pattern, "solidity": 0.35}}


def label(text: str, length: int = 40) -> str:
    """Return `text` as Plotly shows it literally: it reads labels as a kind of HTML.

    Longer texts lose their middle, since the ends tell most (`harness:provider/model`).
    """
    shown = " ".join(visible(text).split())
    if len(shown) > length:
        head = (length - 1) // 2
        shown = f"{shown[:head]}…{shown[head + 1 - length :]}"
    return escape(shown, quote=False)


def plotly_template(scheme: Scheme) -> Mapping[str, Any]:
    """Return the Plotly template of a colour scheme; the page applies it when it draws."""
    axis = {
        "gridcolor": scheme.line,
        "linecolor": scheme.line,
        "zerolinecolor": scheme.line,
        "tickcolor": scheme.line,
        "automargin": True,
        "title": {"font": {"size": 12, "color": scheme.muted}, "standoff": 8},
    }
    return {
        "layout": {
            "font": {"family": FONT, "size": 12.5, "color": scheme.ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False,
            "margin": {"l": 8, "r": 18, "t": 10, "b": 36},
            "hoverlabel": {
                "bgcolor": scheme.panel,
                "bordercolor": scheme.line,
                "font": {"family": FONT, "size": 12.5, "color": scheme.ink},
                "align": "left",
            },
            "bargap": 0.3,
            "bargroupgap": 0.08,
            "xaxis": axis,
            "yaxis": axis,
            "annotationdefaults": {"font": {"size": 12.5, "color": scheme.muted}},
        }
    }
