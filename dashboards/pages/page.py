"""Assembling the page: one HTML file that loads nothing and runs no code but its own.

Everything it shows passes one of three doors: Jinja2's escaping in the templates (after unseen
characters are made visible), `textContent` in the script, `label` in the figures. A content
security policy stands behind them: only the scripts with the hashes below run, no request leaves
the page.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from dashboards.pages import formats
from dashboards.theme import DARK, LIGHT, plotly_template
from dashboards.visible_text import visible

PAGE_BYTES = 8_000_000
"""Largest page without files; what does not fit is left out, and the page says so."""
FILES_BYTES = 10_000_000
"""Most that deliverables and pictures of their pages take beside it."""

_HERE = Path(__file__).parent
RUN_SCRIPTS = (
    "figures.js",
    "elements.js",
    "rows.js",
    "files.js",
    "transcript.js",
    "trial.js",
    "compare.js",
    "views.js",
)
BANK_SCRIPTS = ("figures.js",)


def page(
    context: Mapping[str, Any],
    data: Mapping[str, Any],
    template: str = "run.html",
    own_scripts: Sequence[str] = RUN_SCRIPTS,
) -> str:
    """Return the page.

    Args:
        context: What the templates need.
        data: JSON values for the scripts, by the id of the element that carries each.
        template: What it shows: `run.html`, `bank.html` or `index.html`.
        own_scripts: The scripts that it runs beside Plotly's; none: not that one either.
    """
    scripts = [plotly_source(), *(asset(name) for name in own_scripts)] if own_scripts else []
    html = templates().get_template(template)
    return html.render(
        **context,
        policy=_policy(scripts),
        stylesheet=Markup(asset("dashboard.css")),  # noqa: S704 - our own file
        schemes={"light": LIGHT._asdict(), "dark": DARK._asdict()},
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own and Plotly's
        data={name: embedded(value) for name, value in data.items()},
    )


def embedded(value: Any) -> Markup:
    """Return JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - no `<` is left


def themes() -> dict[str, Any]:
    """Return the Plotly templates of both colour schemes."""
    return {"light": plotly_template(LIGHT), "dark": plotly_template(DARK)}


@cache
def plotly_source() -> str:
    """Return Plotly's script; the Python package brings the whole one only."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def asset(name: str) -> str:
    """Return one of our own scripts or stylesheets."""
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def source_hash(script: str) -> str:
    """Return what a content security policy names an inline script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _policy(scripts: list[str]) -> str:
    allowed = " ".join(source_hash(script) for script in scripts)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; media-src blob:; "
        f"style-src 'unsafe-inline'; script-src {allowed}"
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
