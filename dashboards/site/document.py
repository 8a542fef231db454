"""Assembling a page of the site, and writing it only where it has changed.

Pages share one copy of Plotly, of our script and of our stylesheet in `assets/`. A page's content
security policy names one inline script by its hash: it loads the shared scripts, and nothing else
may run, not even another script of the same folder. Chromium checks no `integrity` of a script that
is opened from a file, so the policy cannot name the shared scripts themselves.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from dashboards.figures.numbers import tabled
from dashboards.pages.page import (
    SHARED_PLOTLY,
    asset,
    embedded,
    plotly_source,
    source_hash,
    templates,
    themes,
)
from dashboards.pages.trial_filter import trials_of_cluster
from dashboards.site.drawing import Drawing
from dashboards.theme import DARK, LIGHT, Scheme
from taskdata.schema.night import FailureCluster

ASSETS = "assets"
PLOTLY = f"{ASSETS}/{SHARED_PLOTLY}"
_SCRIPTS = ("rows.js", "site/side_by_side.js", "site/figures.js", "exports.js")


class Site:
    """The folder of the site."""

    def __init__(self, folder: Path) -> None:
        """Write into `folder`, which is made if it is not there."""
        self.folder = folder
        self.written = 0
        self.kept = 0
        self.largest = 0

    @property
    def plotly(self) -> Path:
        """Return where the one copy of Plotly is."""
        return self.folder / PLOTLY

    def write_assets(self) -> None:
        """Write what the pages share, under names that stay: pages of old nights use it, too."""
        for name, text in shared().items():
            path = self.folder / ASSETS / name
            if not path.exists() or path.read_bytes() != text.encode():
                replace_file(path, text.encode())

    def write(
        self,
        name: str,
        template: str,
        context: Mapping[str, Any],
        drawings: Mapping[str, Drawing] | None = None,
    ) -> None:
        """Write one page, unless it is there as it would be written.

        Args:
            name: Path of the page below the folder.
            template: Below `templates/site`.
            context: What the template needs.
            drawings: The page's figures by the name that the template shows them by.
        """
        page = document(name, template, context, drawings or {}).encode()
        self.largest = max(self.largest, len(page))
        path = self.folder / name
        if path.exists() and path.read_bytes() == page:
            self.kept += 1
            return
        replace_file(path, page)
        self.written += 1

    def has(self, name: str) -> bool:
        """Return whether a page is there."""
        return (self.folder / name).exists()


def document(
    name: str, template: str, context: Mapping[str, Any], drawings: Mapping[str, Drawing]
) -> str:
    """Return one page of the site as HTML."""
    root = "../" * name.count("/")
    loader = _loader(root, bool(drawings))
    data: dict[str, Any] = {}
    if drawings:
        data = {
            "figure-themes": themes(),
            "figures": {key: drawing.figure for key, drawing in drawings.items()},
            "tables": {key: tabled(drawing.table) for key, drawing in drawings.items()},
        }
    return (
        templates()
        .get_template(f"site/{template}")
        .render(
            **context,
            here=name,
            root=root,
            drawings=drawings,
            link=Link(root),
            policy=_policy(loader),
            stylesheet=f"{root}{ASSETS}/site.css",
            loader=Markup(loader),  # noqa: S704 - our own
            data={key: embedded(value) for key, value in data.items()},
        )
    )


class Link:
    """Where pages are, as seen from one of them; ids that others chose cannot leave their place."""

    def __init__(self, root: str = "") -> None:
        """See from a page whose way to the site's folder is `root`."""
        self.root = root

    def run(self, run_id: str) -> str:
        """Return the page of a run."""
        return f"{self.root}../runs/{quote(run_id, safe='')}/dashboard.html"

    def gate(self, run_id: str, gate: str) -> str:
        """Return the Data Docs of a gate of a run, with its history."""
        return f"{self.root}../runs/{quote(run_id, safe='')}/gates/{quote(gate, safe='')}.html"

    def cluster(self, run_id: str, cluster: FailureCluster) -> str:
        """Return the trials of a cluster on the page of the run."""
        return trials_of_cluster(cluster, self.run(run_id))

    def trial(self, run_id: str, trial_id: str) -> str:
        """Return a trial on the page of its run."""
        return f"{self.run(run_id)}#trial-{quote(trial_id, safe='')}"

    def compare(self, run_id: str, task_id: str) -> str:
        """Return all agents on one task, side by side on the page of the run."""
        return f"{self.run(run_id)}#task-{quote(task_id, safe='')}"

    def morning(self, run_id: str) -> str:
        """Return what a night meant."""
        return f"{self.root}{morning_page(run_id)}"

    def task(self, task_id: str) -> str:
        """Return the page of a task."""
        return f"{self.root}{task_page(task_id)}"

    def bank(self, bank: str, version: str) -> str:
        """Return the page of a release."""
        return f"{self.root}../banks/{quote(bank, safe='')}/{quote(version, safe='')}/index.html"


def morning_page(run_id: str) -> str:
    """Return the name of the page on what a night meant."""
    return f"nights/{_file_name(run_id)}.html"


def task_page(task_id: str) -> str:
    """Return the name of a task's page."""
    return f"tasks/{_file_name(task_id)}.html"


def _file_name(name: str) -> str:
    """Return the name itself where it is plain, else its hash: it may hold anything."""
    is_plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    if is_plain and len(name) <= 120:
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@cache
def shared() -> Mapping[str, str]:
    """Return what all pages share, by the name of its file."""
    return {
        SHARED_PLOTLY: plotly_source(),
        "site.js": "\n".join(asset(name) for name in _SCRIPTS),
        "site.css": _colours() + asset("dashboard.css") + asset("site/site.css"),
    }


def _colours() -> str:
    def variables(scheme: Scheme) -> str:
        pairs = scheme._asdict().items()
        return "".join(f"--{name.replace('_', '-')}: {value};" for name, value in pairs)

    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}"
    return f":root {{ {variables(LIGHT)} }}\n{dark}\n"


@cache
def _loader(root: str, with_figures: bool) -> str:
    names: Sequence[str] = (SHARED_PLOTLY, "site.js") if with_figures else ("site.js",)
    paths = [f"{root}{ASSETS}/{name}" for name in names]
    return (
        f"for (const path of {json.dumps(paths)}) {{ const script = "
        'document.createElement("script"); script.src = path; script.async = false; '
        "document.head.append(script); }"
    )


@cache
def _policy(loader: str) -> str:
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        f"style-src 'self' 'unsafe-inline'; script-src {source_hash(loader)} 'strict-dynamic'"
    )


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    beside.write_bytes(content)
    beside.replace(path)
