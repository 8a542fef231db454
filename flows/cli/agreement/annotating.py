"""The command `annotate`: pages on which a person scores leaves or labels failed trials, blind."""

import getpass
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.local_pages import serve_pages

if TYPE_CHECKING:
    from starlette.applications import Starlette


def annotate(
    run_id: Annotated[str | None, typer.Argument(help="Run id; default: the latest.")] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", help="Whose answers; default: your user name.")
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="Only outputs of this agent; repeatable."),
    ] = None,
    all_leaves: Annotated[
        bool, typer.Option("--all-leaves", help="Also leaves that code verifies.")
    ] = False,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Label why failed trials failed instead of scoring leaves."),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="With --labels: size of a sample, the same for everybody."),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser of this machine.")
    ] = True,
) -> None:
    """Serve a page on which you score leaves without knowing the agent or the judge's scores.

    With --labels you say why failed trials failed, without knowing the labels that they have.
    Every answer is saved at once, and the same command carries on. The page is served on this
    machine alone, behind the login of the home, until Ctrl-C.
    """
    from pydantic import ValidationError

    from flows.cli.runs.reading import opened
    from flows.serving.tokens import login_of
    from taskdata.errors import Misuse
    from taskdata.schema.agreement import Annotation

    if labels and all_leaves:
        raise Misuse("leave out --all-leaves: with --labels whole trials are asked about")
    if trials is not None and not labels:
        raise Misuse("--trials goes with --labels; leaves are asked about of every trial")
    who = annotator or getpass.getuser()
    try:
        Annotation(trial_id="", leaf_id="", annotator=who, score=None)
    except ValidationError as exc:
        raise Misuse("--annotator: a name of 1 to 80 characters in one line") from exc
    settings, store, run = opened(run_id)
    with closing(store):
        source = store.run(run.config.rescores) if run.config.rescores else run
        login = login_of(settings.home)
        app: Starlette
        if labels:
            from flows.agreement.label_questions import label_questions
            from flows.serving.annotation.labels import labelling_app

            failed = label_questions(store, source, who, agents or (), trials)
            app = labelling_app(store, source.id, failed, who, login)
            told = f"{len(failed)} failed trials"
        else:
            from flows.agreement.questions import questions
            from flows.serving.annotation.scores import annotation_app

            asked = questions(store, source, who, agents or (), all_leaves=all_leaves)
            app = annotation_app(store, source.id, asked, who, login)
            told = f"{len(asked)} leaves"
        console.say(f"{told} of run {source.id} for {who}")
        serve_pages(app, settings, "Label" if labels else "Score", open_=open_)
