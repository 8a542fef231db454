"""Commands of the reviewer: list, show, edit. Those that decide are in flows/cli/reviewing."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.editing import edited
from flows.cli.bank.options import ReviewerOption, reviewer_of
from flows.cli.bank.stopped_candidates import CandidateArgument, stopped_lines
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from stages.release.reviewing.votes import Standing
    from taskdata.schema.construct import Candidate
    from taskdata.store import Store

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

RefreshOption = Annotated[
    str | None, typer.Option("--refresh", help="Only this refresh; default: all.")
]


def _store() -> "Store":
    from flows.config import load_settings
    from taskdata.store import Store

    return Store.open(load_settings().address)


@app.command("list")
def list_candidates(
    refresh: RefreshOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that do not wait for a decision.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the candidates that wait for a decision, and what gates and stages have stopped."""
    from stages.release.review import awaiting

    store = _store()
    if refresh is not None:
        store.refresh(refresh)
    found = store.candidates(refresh) if everything else awaiting(store, refresh)
    entries = [_entry(store, candidate) for candidate in found]
    stopped = stopped_lines(store, store.quarantine_entries(lasting=True), refresh)
    if as_json:
        console.write_json({"candidates": entries, "quarantined": stopped})
        return
    rows = [
        {
            "task": str(entry["task_id"]),
            # All that wait are at review.
            "status": str(entry["status"]) if everything else "",
            "proof": str(entry["proof"] or ""),
            "reviewed": str(entry["reviewed"] or ""),
            "category": str(entry["category"] or ""),
            "source": str(entry["source"] or ""),
            "title": str(entry["title"] or entry["reason"]),
        }
        for entry in entries
    ]
    title = "Candidates" if everything else "Waiting for review"
    console.table(rows, title=title, optional=("source", "category"))
    if rows and not everything:
        console.say("`nightshift review show TASK` says everything about one of them")
    if stopped:
        console.table(stopped, title="In quarantine")
        console.say(
            "`nightshift review` has edit, override, regate and drop; for seeds, `nightshift seeds`"
        )


def _viewer(given: str | None) -> str:
    """Return who looks; somebody without a name has not decided, and sees as much."""
    with suppress(Misuse):
        return reviewer_of(given)
    return ""


def _entry(store: "Store", candidate: "Candidate") -> dict[str, object]:
    from stages.release.reviewing.votes import standing
    from taskdata.schema.construct import CandidateStatus, Construction

    draft = store.draft(candidate.id)
    steps = store.steps(candidate.id)
    proofs = [step.verdict for step in steps if step.stage is Construction.PROVE]
    is_open = candidate.status is CandidateStatus.OPEN
    now = standing(
        store.reviews(candidate.id), store.refresh(candidate.refresh_id).config.reviewers
    )
    return {
        "id": candidate.id,
        "task_id": candidate.task_id,
        "refresh": candidate.refresh_id,
        "origin": candidate.origin.value,
        "tier": candidate.tier.value,
        "status": f"at {candidate.stage.value}" if is_open else candidate.status.value,
        "reason": candidate.reason,
        "title": draft.title if draft else None,
        "category": draft.category.value if draft else None,
        "source": store.seed(candidate.seed_id).query.source if candidate.seed_id else None,
        "proof": proofs[-1] if proofs else None,
        "reviewed": _reviewed(now) if is_open else None,
        "is_disputed": is_open and now.is_disputed,
    }


def _reviewed(now: "Standing") -> str | None:
    """Return how many have decided; None where one is enough."""
    if now.needed == 1:
        return None
    return "disputed" if now.is_disputed else f"{len(now.votes)} of {now.needed}"


@app.command()
def show(
    candidate: CandidateArgument,
    full: Annotated[bool, typer.Option("--full", help="Cut no text, however long.")] = False,
    reviewer: Annotated[
        str | None,
        typer.Option(help="Who is looking, and has yet to decide; default: your user name."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a candidate: its seed, its history, the task with what it expects, its solution.

    Where two reviewers are asked for, you do not see what others decided before you have.
    """
    from flows.cli.bank.sheets import write_sheet
    from stages.release.review import sheet

    store = _store()
    found = sheet(store, candidate, _viewer(reviewer))
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    write_sheet(store, found, full=full)


@app.command()
def edit(
    candidate: CandidateArgument,
    file: Annotated[
        Path | None, typer.Option(help="YAML of the whole draft; without it your editor opens.")
    ] = None,
    reviewer: ReviewerOption = None,
    comment: Annotated[str, typer.Option(help="Why.")] = "",
) -> None:
    """Change a candidate's draft; it is checked and proven again before it can be approved."""
    from stages.construct.rules.book import review_rules
    from stages.release.review import sheet
    from stages.release.reviewing.deciding import edit as change

    store = _store()
    found = sheet(store, candidate)
    if found.draft is None:
        raise Misuse(f"candidate {candidate!r} has no draft to edit yet")
    fields = edited(file, found.draft.model_dump(mode="json"))
    change(store, found.candidate, fields, reviewer_of(reviewer), comment, review_rules(store))
    console.say(
        f"{found.candidate.task_id}: changed; `nightshift refresh --resume "
        f"{found.candidate.refresh_id}` proves it again"
    )
