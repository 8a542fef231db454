"""The command `annotate`: pages on which a person scores leaves, labels failures or marks plans."""

import getpass
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.local_pages import serve_pages
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from taskdata.schema.run import Run
    from taskdata.store import Store


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
    plans: Annotated[
        bool,
        typer.Option("--plans", help="Mark answers to planning cases instead of scoring leaves."),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --labels or --plans: size of a sample, the same for everybody."
        ),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser of this machine.")
    ] = True,
) -> None:
    """Serve a page on which you score leaves without knowing the agent or the judge's scores.

    With --labels you say why failed trials failed, without knowing the labels that they have.
    With --plans you mark plans, without knowing what code and the judge say about them. Every
    answer is saved at once, and the same command carries on. The page is served on this machine
    alone, behind the login of the home, until Ctrl-C.
    """
    from pydantic import ValidationError

    from flows.cli.runs.reading import opened
    from flows.serving.tokens import login_of
    from taskdata.schema.agreement import Annotation

    _require_one_question(labels, plans, all_leaves, trials)
    who = annotator or getpass.getuser()
    try:
        Annotation(trial_id="", leaf_id="", annotator=who, score=None)
    except ValidationError as exc:
        raise Misuse("--annotator: a name of 1 to 80 characters in one line") from exc
    settings, store, run = opened(run_id)
    with closing(store):
        source = store.run(run.config.rescores) if run.config.rescores else run
        asks = _Asks(store, source, who, login_of(settings.home), agents or ())
        if labels:
            app, told = asks.labels_of_failed_trials(trials)
        elif plans:
            app, told = asks.marks_of_plans(trials)
        else:
            app, told = asks.scores_of_leaves(all_leaves=all_leaves)
        console.say(f"{told} of run {source.id} for {who}")
        verb = "Label" if labels else "Mark" if plans else "Score"
        serve_pages(app, settings, verb, open_=open_)


@dataclass(frozen=True)
class _Asks:
    """What is asked of one person about a run; each way returns its pages, and how much it asks."""

    store: "Store"
    run: "Run"
    who: str
    login: str
    agents: Sequence[str]
    """Only outputs of these; empty: of all."""

    def labels_of_failed_trials(self, most: int | None) -> "tuple[Starlette, str]":
        from flows.agreement.label_questions import label_questions
        from flows.serving.annotation.labels import labelling_app

        asked = label_questions(self.store, self.run, self.who, self.agents, most)
        app = labelling_app(self.store, self.run.id, asked, self.who, self.login)
        return app, f"{len(asked)} failed trials"

    def marks_of_plans(self, most: int | None) -> "tuple[Starlette, str]":
        from flows.agreement.plan_questions import plan_questions
        from flows.serving.annotation.plans import marking_app

        asked = plan_questions(self.store, self.run, self.who, self.agents, most)
        app = marking_app(self.store, self.run.id, asked, self.who, self.login)
        return app, f"{len(asked)} plans"

    def scores_of_leaves(self, *, all_leaves: bool) -> "tuple[Starlette, str]":
        from flows.agreement.questions import questions
        from flows.serving.annotation.scores import annotation_app

        asked = questions(self.store, self.run, self.who, self.agents, all_leaves=all_leaves)
        app = annotation_app(self.store, self.run.id, asked, self.who, self.login)
        return app, f"{len(asked)} leaves"


def _require_one_question(labels: bool, plans: bool, all_leaves: bool, trials: int | None) -> None:
    """Raise `Misuse` for options that ask about different things."""
    if labels and plans:
        raise Misuse("give --labels or --plans: they ask about different things")
    if (labels or plans) and all_leaves:
        what = "--labels" if labels else "--plans"
        raise Misuse(f"leave out --all-leaves: with {what} whole trials are asked about")
    if trials is not None and not (labels or plans):
        raise Misuse(
            "--trials goes with --labels or --plans; leaves are asked about of every trial"
        )
