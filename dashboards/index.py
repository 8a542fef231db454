"""The list of all pages: every run's dashboard and every release's page, where they are served."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dashboards.pages.page import page
from taskdata.schema.base import Value


class ListedRun(Value):
    """A run as the list shows it."""

    run_id: str
    created_at: datetime
    bank: str
    agents: tuple[str, ...]
    status: str
    rescores: str | None = None
    """The run whose trials it scores again."""
    has_dashboard: bool
    gates: tuple[str, ...] = ()
    """Names of the gates whose Data Docs are beside the dashboard."""


class ListedRelease(Value):
    """A release of a bank whose page is there."""

    bank: str
    version: str


class ListedJudge(Value):
    """A judge whose card is there as a page."""

    judge: str
    page: str
    """Name of the page's file."""
    leaves: int = 0
    """That people and the judge have scored."""
    plans: int = 0
    """That people and the judge have marked, on a card about plans; 0: it is one about leaves."""
    falls_short: bool = False
    """Whether it misses what the settings demand; nothing is demanded of judges of plans."""


class ListedLabeller(Value):
    """A labeller of failures whose card is there as a page."""

    labeller: str
    page: str
    """Name of the page's file."""
    trials: int
    """That people and the labeller have labelled."""


def build_index(
    runs: Sequence[ListedRun],
    releases: Sequence[ListedRelease],
    judges: Sequence[ListedJudge] = (),
    labellers: Sequence[ListedLabeller] = (),
    *,
    has_site: bool = False,
) -> str:
    """Return the list as an HTML page: runs in their order, then releases, judges and labellers.

    Its links are relative: `runs/<id>/dashboard.html`, `banks/<bank>/<version>/index.html`,
    `judges/<page>`, and `site/index.html` where the pages over all nights are there.
    """
    context: dict[str, Any] = {"runs": runs, "releases": releases, "judges": judges}
    context |= {"labellers": labellers, "has_site": has_site}
    return page(context, {}, "index.html", ())
