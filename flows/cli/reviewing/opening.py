"""The command `review open`: pages on which a person reviews tasks."""

from contextlib import closing
from typing import Annotated

import typer

from flows.cli import console
from flows.cli.bank.options import ReviewerOption, reviewer_of
from flows.cli.bank.reviews import RefreshOption
from flows.cli.local_pages import serve_pages


def open_pages(
    refresh: RefreshOption = None,
    reviewer: ReviewerOption = None,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in the browser of this machine.")
    ] = True,
) -> None:
    """Serve a page on which you read the tasks that wait, answer the checklist, and decide.

    Every decision is saved at once, and the same command carries on. Where two reviewers are asked
    for, you do not see what others decided before you have. The page is served on this machine
    alone, behind the login of the home, until Ctrl-C.
    """
    from flows.config import load_settings
    from flows.serving.annotation.reviews import review_app
    from flows.serving.tokens import login_of
    from stages.release.review import awaiting
    from stages.release.reviewing.deciding import reviewer_name
    from taskdata.errors import Misuse
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        if refresh is not None:
            store.refresh(refresh)
        who = reviewer_name(reviewer_of(reviewer))
        waiting = awaiting(store, refresh)
        if not waiting:
            raise Misuse(
                "no candidate waits for review; `nightshift review list --all` names them all"
            )
        app = review_app(store, waiting, who, login_of(settings.home))
        console.say(f"{len(waiting)} tasks for {who}")
        serve_pages(app, settings, "Review", open_=open_)
