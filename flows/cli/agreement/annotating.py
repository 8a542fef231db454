"""The command `annotate`: a page on which a person scores leaves blind."""

import getpass
from contextlib import closing
from typing import Annotated

import typer

from flows.cli import console


def annotate(
    run_id: Annotated[str | None, typer.Argument(help="Run id; default: the latest.")] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", help="Who scores; default: your user name.")
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="Only outputs of this agent; repeatable."),
    ] = None,
    all_leaves: Annotated[
        bool, typer.Option("--all-leaves", help="Also leaves that code verifies.")
    ] = False,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser of this machine.")
    ] = True,
) -> None:
    """Serve a page on which you score leaves without knowing the agent or the judge's scores.

    Every score is saved at once, and the same command carries on. The page is served on this
    machine alone, behind the login of the home, until Ctrl-C.
    """
    import uvicorn
    from pydantic import ValidationError

    from flows.agreement.questions import questions
    from flows.cli.runs.reading import opened
    from flows.serving.annotation.scores import annotation_app
    from flows.serving.ports import address_of, listening
    from flows.serving.tokens import login_file, login_of
    from taskdata.errors import Misuse
    from taskdata.schema.agreement import Annotation

    who = annotator or getpass.getuser()
    try:
        Annotation(trial_id="", leaf_id="", annotator=who, score=None)
    except ValidationError as exc:
        raise Misuse("--annotator: a name of 1 to 80 characters in one line") from exc
    settings, store, run = opened(run_id)
    with closing(store):
        source = store.run(run.config.rescores) if run.config.rescores else run
        asked = questions(store, source, who, agents or (), all_leaves=all_leaves)
        app = annotation_app(store, source.id, asked, who, login_of(settings.home))
        listener = listening(settings.dashboard_port)
        address = address_of(listener)
        console.say(f"{len(asked)} leaves of run {source.id} for {who}")
        console.say(f"Score them: {address} (login: in {login_file(settings.home)})")
        console.say("Ctrl-C stops serving; what was scored is saved.")
        if open_:
            import webbrowser

            webbrowser.open(address)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
