"""Assembling a page: HTML that runs no code but its own and Plotly's.

Everything it shows passes one of three doors: Jinja2's escaping in the templates (after unseen
characters are made visible), `textContent` in the script, `label` in the figures. A content
security policy stands behind them: only the scripts with the hashes below run, and what these load.

A page either carries Plotly, packed, and loads nothing at all, or loads the copy that the pages
over all nights share.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from dashboards.figures.numbers import numbers, tabled
from dashboards.pages import formats
from dashboards.theme import DARK, LIGHT, plotly_template
from dashboards.visible_text import visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

PAGE_BYTES = 5_000_000
"""Largest page without files; what does not fit is left out, and the page says so."""
FILES_BYTES = 10_000_000
"""Most that deliverables and pictures of their pages take beside it."""
SHARED_PLOTLY = "plotly.js"
"""Name of the one copy of Plotly's script that pages share."""

_HERE = Path(__file__).parent
RUN_SCRIPTS = (
    "figures.js",
    "exports.js",
    "elements.js",
    "rows.js",
    "files.js",
    "transcript.js",
    "trial.js",
    "compare.js",
    "views.js",
)
BANK_SCRIPTS = ("figures.js", "exports.js")


def page(
    context: Mapping[str, Any],
    data: Mapping[str, Any],
    template: str = "run.html",
    own_scripts: Sequence[str] = RUN_SCRIPTS,
    plotly: str | None = None,
) -> str:
    """Return the page.

    Args:
        context: What the templates need.
        data: JSON values for the scripts, by the id of the element that carries each.
        template: What it shows: `run.html`, `bank.html` or `index.html`.
        own_scripts: The scripts that it runs beside Plotly's; none: not that one either.
        plotly: Where it finds Plotly's script, relative to itself; None: it carries it.
    """
    before = ("unpacked.js", "packed.js" if plotly is None else "beside.js") if own_scripts else ()
    scripts = [asset(name) for name in (*before, *own_scripts)]
    html = templates().get_template(template)
    return html.render(
        **context,
        policy=_policy(scripts, plotly),
        plotly=plotly,
        packed_plotly=packed_plotly() if own_scripts and plotly is None else None,
        stylesheet=Markup(asset("dashboard.css")),  # noqa: S704 - our own file
        schemes={"light": LIGHT._asdict(), "dark": DARK._asdict()},
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own
        data={name: embedded(value) for name, value in data.items()},
    )


def embedded(value: Any) -> Markup:
    """Return JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - no `<` is left


def drawn_figures(figures: "Mapping[str, go.Figure]") -> dict[str, Any]:
    """Return what the scripts need to draw figures, and to show and save their numbers."""
    drawn = {name: json.loads(figure.to_json()) for name, figure in figures.items()}
    tables = {name: tabled(numbers(figure)) for name, figure in drawn.items()}
    return {"figure-themes": themes(), "figures": drawn, "tables": tables}


def themes() -> dict[str, Any]:
    """Return the Plotly templates of both colour schemes."""
    return {"light": plotly_template(LIGHT), "dark": plotly_template(DARK)}


@cache
def plotly_source() -> str:
    """Return Plotly's script; the Python package brings the whole one only."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def packed_plotly() -> Markup:
    """Return Plotly's script gzipped and in base64, which is less than half as long."""
    packed = base64.b64encode(gzip.compress(plotly_source().encode(), 9, mtime=0))
    return Markup(packed.decode())  # noqa: S704 - letters, digits, `+`, `/` and `=`


@cache
def asset(name: str) -> str:
    """Return one of our own scripts or stylesheets."""
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def source_hash(script: str) -> str:
    """Return what a content security policy names an inline script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _policy(scripts: Sequence[str], plotly: str | None) -> str:
    allowed = [source_hash(script) for script in scripts]
    # A script that is loaded from a file cannot be named by its hash: Chromium checks none.
    plotlys = "'strict-dynamic'" if plotly else source_hash(plotly_source())
    allowed.append(plotlys if scripts else "'none'")
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; media-src blob:; "
        f"style-src 'unsafe-inline'; script-src {' '.join(allowed)}"
    )


@cache
def templates() -> jinja2.Environment:
    """Return the templates, which escape whatever they show and make unseen characters visible."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.globals["format"] = formats
    return environment
