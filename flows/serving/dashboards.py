"""Serving dashboards to the owner of a home: read-only, on this machine, behind the login.

References and trials are in dashboards, and other accounts of the machine reach its ports, too, so
every page asks for the login of the home. It is asked for by HTTP's own means: a browser keeps
such a login for this port alone, whereas a cookie would go to every server of the machine.
"""

import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from flows.serving.guard import behind_login
from flows.serving.ports import address_of, listening
from flows.serving.tokens import login_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from dashboards.index import ListedJudge, ListedLabeller, ListedRelease, ListedRun
    from flows.config import Settings
    from taskdata.schema.run import Run
    from taskdata.store import Store

ADDRESS_VARIABLE = "NIGHTSHIFT_DASHBOARDS"
"""Names, within a command that serves dashboards and in its flow runs, where they are served."""

HEADERS = {
    # Pages bring the code that they run, and their own policies name it by its hash.
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; img-src data: blob:; media-src data: blob:; font-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
SHARING_HEADERS = {
    # Pages of the site, of runs and of releases share scripts, those of the site a stylesheet, too:
    # their own policies name the scripts that load them.
    "Content-Security-Policy": HEADERS["Content-Security-Policy"]
    .replace("style-src", "style-src 'self'")
    .replace("script-src", "script-src 'self'"),
}
_MORNING = "/site/index.html"
_SHARING = re.compile(r"/site/.*|/runs/[^/]+/dashboard\.html|/banks/[^/]+/[^/]+/index\.html")
"""Paths of pages that share what they load; the Data Docs of gates beside them load nothing."""


def dashboards_address() -> str:
    """Return where dashboards are served, in a command that serves them."""
    return os.environ[ADDRESS_VARIABLE]


def dashboard_url(run_id: str) -> str | None:
    """Return where a run's dashboard is served; None where nothing serves it."""
    address = os.environ.get(ADDRESS_VARIABLE)
    return f"{address}/runs/{quote(run_id, safe='')}/dashboard.html" if address else None


@contextmanager
def dashboards_served(home: Path, port: int, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve dashboards from a thread for the length of the block; yield their address.

    Browsers find them under the loopback address, whatever `host` says: what listens elsewhere is
    in a container, whose port is published there.
    """
    listener = listening(port, host)
    address = os.environ[ADDRESS_VARIABLE] = address_of(listener)
    threading.Thread(target=serve_dashboards, args=(listener, home), daemon=True).start()
    try:
        yield address
    finally:
        del os.environ[ADDRESS_VARIABLE]


def serve_dashboards(listener: socket.socket, home: Path) -> None:
    """Serve dashboards on that socket until the process ends."""
    import uvicorn

    config = uvicorn.Config(dashboards_app(home, login_of(home)), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


def dashboards_app(home: Path, login: str) -> "Starlette":
    """Return the server of a home's pages.

    Args:
        home: Of the state.
        login: What it asks for, `user:password`.
    """
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, RedirectResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    def headers(path: str) -> Mapping[str, str]:
        return HEADERS | SHARING_HEADERS if _SHARING.fullmatch(path) else HEADERS

    def has_site() -> bool:
        return (home / "site" / "index.html").is_file()

    def index(request: "Request") -> "Response":
        return RedirectResponse(_MORNING) if has_site() else listing(request)

    def listing(_request: "Request") -> "Response":
        from dashboards.index import build_index

        return HTMLResponse(build_index(*_listed(home), has_site=has_site()))

    folders = ("runs", "banks", "site", "judges")
    for name in folders:
        (home / name).mkdir(parents=True, exist_ok=True)
    return Starlette(
        routes=[
            Route("/", index),
            Route("/list.html", listing),
            *(Mount(f"/{name}", StaticFiles(directory=home / name)) for name in folders),
        ],
        middleware=behind_login(login, headers),
    )


def _listed(
    home: Path,
) -> "tuple[list[ListedRun], list[ListedRelease], list[ListedJudge], list[ListedLabeller]]":
    from flows.agreement.cards import listed_judges
    from flows.agreement.label_cards import listed_labellers
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        runs = [_listed_run(settings, store, run) for run in store.runs()]
        judges = listed_judges(settings, store)
        labellers = listed_labellers(settings, store)
    return runs, listed_releases(home), judges, labellers


def listed_releases(home: Path) -> "list[ListedRelease]":
    """Return the releases of a home that have a page, the last ones first."""
    from dashboards.index import ListedRelease

    pages = sorted((home / "banks").glob("*/*/index.html"), reverse=True)
    return [ListedRelease(bank=page.parts[-3], version=page.parts[-2]) for page in pages]


def _listed_run(settings: "Settings", store: "Store", run: "Run") -> "ListedRun":
    from dashboards.index import ListedRun
    from flows.run_status import status_of

    folder = settings.run_folder(run.id)
    return ListedRun(
        run_id=run.id,
        created_at=run.created_at,
        bank=run.config.bank,
        agents=tuple(agent.name for agent in run.config.agents),
        status=status_of(settings, store, run),
        rescores=run.config.rescores,
        has_dashboard=(folder / "dashboard.html").is_file(),
        gates=tuple(sorted(page.stem for page in folder.glob("gates/*.html"))),
    )
