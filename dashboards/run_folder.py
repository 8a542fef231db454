"""The folder of a run in the site: its page, and what the page loads when a reader asks for it."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from dashboards.build import BESIDE, build_beside
from dashboards.index import ListedJudge
from dashboards.site.document import Site, replace_file
from taskdata.schema.failures import RunFailures
from taskdata.schema.night import Morning
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import RunSummary
from taskdata.store import Store

PAGE = "dashboard.html"


def write_run_folder(
    folder: Path,
    site: Path,
    store: Store,
    summary: RunSummary,
    data_docs: Collection[str] = (),
    morning: Morning | None = None,
    results: Sequence[TrialResult] | None = None,
    judge_cards: Sequence[ListedJudge] = (),
    run_failures: RunFailures | None = None,
) -> Path:
    """Write the page of a run with the files beside it, and the copy of Plotly that it shares.

    Args:
        folder: Of the run.
        site: Folder of the pages over all nights, whose copy of Plotly the page loads.
        store: Where the run is.
        summary: The run's numbers as they are to be shown.
        data_docs: Gates whose Data Docs are in the folder.
        morning: What the run means against the nights before; None: nobody has compared it.
        results: Of all its trials; None: they are read from the store.
        judge_cards: Of the run's judges.
        run_failures: As for `build`.

    Returns:
        The page.

    Raises:
        Misuse: if the run is not in the store.
    """
    Site(site).write_assets()
    page = build_beside(
        store,
        summary,
        _from(folder, site),
        data_docs,
        morning,
        results,
        judge_cards,
        run_failures,
    )
    for path, script in page.beside.items():
        if not (folder / path).exists():  # named by the hash of what it holds
            replace_file(folder / path, script.encode())
    replace_file(folder / PAGE, page.html.encode())
    _remove_others(folder, page.beside)
    return folder / PAGE


def shared_plotly(folder: Path, site: Path) -> str:
    """Write what all pages share, if need be; return Plotly's place as seen from `folder`."""
    Site(site).write_assets()
    return _from(folder, Site(site).plotly)


def _from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _remove_others(folder: Path, beside: Collection[str]) -> None:
    """Remove what an earlier page of this run had beside it and this one has not."""
    for path in (path for kind in BESIDE for path in (folder / kind).glob("*.js")):
        if path.relative_to(folder).as_posix() not in beside:
            path.unlink()
