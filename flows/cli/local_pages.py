"""Serving pages that ask a person, on this machine alone, until Ctrl-C."""

from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from flows.config import Settings


def serve_pages(app: "Starlette", settings: "Settings", verb: str, *, open_: bool) -> None:
    """Serve pages at the port of the dashboards, or at a free one, and say where.

    Args:
        app: What serves them.
        settings: Those of the home, whose login the pages ask for.
        verb: What the person does there, such as `Score`.
        open_: Whether the browser of this machine is opened.
    """
    import uvicorn

    from flows.serving.ports import address_of, listening
    from flows.serving.tokens import login_file

    listener = listening(settings.dashboard_port)
    address = address_of(listener)
    console.say(f"{verb} them: {address} (login: in {login_file(settings.home)})")
    console.say("Ctrl-C stops serving; every answer is saved.")
    if open_:
        import webbrowser

        webbrowser.open(address)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
