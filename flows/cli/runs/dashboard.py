"""`nightshift dashboard`: the pages over all nights, in a browser."""

import threading
from contextlib import closing
from typing import Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption


def dashboard(
    path: Annotated[
        bool, typer.Option("--path", help="Only say where the page is; it opens from the file.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Write the pages of all nights anew.")
    ] = False,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser of this machine.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Serve this morning's page: what changed overnight, trends, leaderboard, failures, tasks.

    Every night writes its pages when it is published. They are served read-only, on this machine
    alone, behind the login of the home, until Ctrl-C; `nightshift serve` serves them, too.
    """
    from flows.config import load_settings
    from flows.serving.dashboards import dashboards_served
    from flows.serving.tokens import login_file
    from flows.site import write_all
    from taskdata.store import Store

    settings = load_settings()
    page = settings.site_folder / "index.html"
    if rebuild or not page.exists():
        with closing(Store.open(settings.address)) as store:
            write_all(settings, store)
    if as_json:
        console.write_json({"page": str(page)})
        return
    if path:
        console.say(str(page))
        return
    with dashboards_served(settings.home, settings.dashboard_port) as address:
        console.say(f"This morning: {address} (login: in {login_file(settings.home)})")
        console.say("Ctrl-C stops serving.")
        if open_:
            import webbrowser

            webbrowser.open(address)
        threading.Event().wait()
