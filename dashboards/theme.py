"""How figures and pages look: one colour per agent, two colour schemes, safe labels."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from dashboards.visible_text import visible

PALETTE = (
    "#4297eb",
    "#b23d06",
    "#077447",
    "#bb8d03",
    "#a2459a",
    "#786eff",
    "#ea0056",
    "#9007ff",
)
"""Distinct from each other and from `CONTROL_COLOUR`, also with protanopia, deuteranopia and
tritanopia (CIELAB distance of at least 18), and readable as graphics on both papers (contrast
above 3)."""
CONTROL_COLOUR = "#808891"
SYMBOLS = (
    ("circle", "●"),
    ("diamond", "◆"),
    ("square", "■"),
    ("triangle-up", "▲"),
    ("cross", "✚"),
    ("star", "★"),
    ("triangle-down", "▼"),
    ("x", "✖"),
)
"""Markers in figures, by Plotly's name, and the same in text."""
CONTROL_SYMBOLS = (("circle-open", "○"), ("square-open", "□"))
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
    found: str
    """Behind what a search has found."""
    found_ink: str


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
    found="#ffe08a",
    found_ink="#1b1f24",
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
    found="#ffd34d",
    found_ink="#15181d",
)


def agent_styles(agents: Sequence[str], controls: Collection[str]) -> dict[str, AgentStyle]:
    """Return the style of each agent, in the order given.

    No two of the first 64 that compete have the same colour and symbol, and no two of the first 32
    look the same as bars. Controls are grey, so that they take no colour from an agent.
    """
    competing = [agent for agent in agents if agent not in controls]
    apart = [agent for agent in agents if agent in controls]
    found = {agent: _style(place) for place, agent in enumerate(competing)}
    found |= {agent: _control_style(place) for place, agent in enumerate(apart)}
    return {agent: found[agent] for agent in agents}


def _control_style(place: int) -> AgentStyle:
    symbol, mark = CONTROL_SYMBOLS[place % len(CONTROL_SYMBOLS)]
    return AgentStyle(CONTROL_COLOUR, symbol, mark, PATTERNS[place % len(PATTERNS)])


def _style(place: int) -> AgentStyle:
    again, colour = divmod(place, len(PALETTE))
    # Moved on by one at every new start of the palette, or each colour would keep its symbol.
    symbol, mark = SYMBOLS[(place + again) % len(SYMBOLS)]
    return AgentStyle(PALETTE[colour], symbol, mark, PATTERNS[again % len(PATTERNS)])


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


def labels(texts: Iterable[str], length: int = 40) -> dict[str, str]:
    """Return the label of each text, longer than `length` where shorter ones would be equal.

    What one model does in several ways of planning differs in the middle of its name, and Plotly
    takes equal labels for one place on an axis.
    """
    distinct = tuple(dict.fromkeys(texts))
    longest = max((len(text) for text in distinct), default=0)
    for tried in range(length, max(length, longest) + 1):
        found = {text: label(text, tried) for text in distinct}
        if len(set(found.values())) == len(distinct):
            break
    return found


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
            "polar": {
                "bgcolor": "rgba(0,0,0,0)",
                "angularaxis": {"gridcolor": scheme.line, "linecolor": scheme.line},
                "radialaxis": {"gridcolor": scheme.line, "linecolor": scheme.line},
            },
            "annotationdefaults": {"font": {"size": 12.5, "color": scheme.muted}},
        }
    }
