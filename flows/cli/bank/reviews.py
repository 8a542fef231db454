"""Commands of the reviewer: list, show, approve, reject, edit."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import BadTaskData, Misuse

if TYPE_CHECKING:
    from taskdata.schema.construct import Candidate, TaskDraft
    from taskdata.store import Store

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

RefreshOption = Annotated[
    str | None, typer.Option("--refresh", help="Only this refresh; default: all.")
]
ReviewerOption = Annotated[
    str | None, typer.Option(help="Who decides; default: your user name on this machine.")
]
CandidateArgument = Annotated[str, typer.Argument(help="Candidate or task id, as in the list.")]
_MAX_DRAFT_BYTES = 1 << 20
_DONE = {"approve": "approved", "reject": "rejected"}


def _store() -> "Store":
    from flows.config import load_settings
    from taskdata.store import Store

    return Store.open(load_settings().address)


def _reviewer(given: str | None) -> str:
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError) as exc:
        raise Misuse("this user has no name; say who decides: --reviewer NAME") from exc


@app.command("list")
def list_candidates(
    refresh: RefreshOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that do not wait for a decision.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the candidates that wait for a decision."""
    from stages.release.review import awaiting

    store = _store()
    if refresh is not None:
        store.refresh(refresh)
    found = store.candidates(refresh) if everything else awaiting(store, refresh)
    entries = [_entry(store, candidate) for candidate in found]
    if as_json:
        console.write_json({"candidates": entries})
        return
    rows = [
        {
            "task": str(entry["task_id"]),
            "status": str(entry["status"]),
            "proof": str(entry["proof"] or ""),
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


def _entry(store: "Store", candidate: "Candidate") -> dict[str, object]:
    from taskdata.schema.construct import CandidateStatus, Construction

    draft = store.draft(candidate.id)
    steps = store.steps(candidate.id)
    proofs = [step.verdict for step in steps if step.stage is Construction.PROVE]
    is_open = candidate.status is CandidateStatus.OPEN
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
    }


@app.command()
def show(
    candidate: CandidateArgument,
    full: Annotated[bool, typer.Option("--full", help="Cut no text, however long.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a candidate: its seed, its history, the task with what it expects, its solution."""
    from flows.cli.bank.sheets import write_sheet
    from stages.release.review import sheet

    store = _store()
    found = sheet(store, candidate)
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    write_sheet(store, found, full=full)


@app.command()
def approve(
    candidates: Annotated[list[str] | None, typer.Argument(help="Candidate or task ids.")] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Every candidate that waits, instead of naming them.")
    ] = False,
    reviewer: ReviewerOption = None,
    comment: Annotated[str, typer.Option(help="Why.")] = "",
) -> None:
    """Approve candidates: they are part of the next release."""
    from stages.release.review import awaiting

    names = list(candidates or ())
    if all_ == bool(names):
        raise Misuse("name the candidates to approve, or give --all")
    _decide(names or [c.id for c in awaiting(_store())], "approve", reviewer, comment)


@app.command()
def reject(
    candidates: Annotated[list[str], typer.Argument(help="Candidate or task ids.")],
    comment: Annotated[str, typer.Option(help="Why; required.")],
    reviewer: ReviewerOption = None,
) -> None:
    """Reject candidates, with a reason; also those that a stage fails on each time."""
    _decide(candidates, "reject", reviewer, comment)


def _decide(names: list[str], decision: Any, reviewer: str | None, comment: str) -> None:
    from stages.release.review import decide, find, require_decidable

    store = _store()
    found = {c.id: c for c in (find(store, name) for name in names)}
    if not found:
        raise Misuse("no candidate waits for review; `nightshift review list --all` names them all")
    for candidate in found.values():
        require_decidable(candidate, decision)
    for candidate in found.values():
        decide(store, candidate, decision, _reviewer(reviewer), comment)
        console.say(f"{candidate.task_id}: {_DONE[decision]}")
    for refresh_id in dict.fromkeys(candidate.refresh_id for candidate in found.values()):
        console.say(f"`nightshift refresh --resume {refresh_id}` carries the refresh on")


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
    from stages.release.review import edit as change
    from stages.release.review import sheet

    store = _store()
    found = sheet(store, candidate)
    if found.draft is None:
        raise Misuse(f"candidate {candidate!r} has no draft to edit yet")
    text = _from_file(file) if file else _from_editor(found.draft)
    fields = _fields(text, str(file or "the edited draft"))
    change(store, found.candidate, fields, _reviewer(reviewer), comment, review_rules(store))
    console.say(
        f"{found.candidate.task_id}: changed; `nightshift refresh --resume "
        f"{found.candidate.refresh_id}` proves it again"
    )


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_DRAFT_BYTES + 1)
        if len(data) > _MAX_DRAFT_BYTES:
            raise BadTaskData(f"{path}: larger than {_MAX_DRAFT_BYTES} bytes")
        return data.decode()
    except OSError as exc:
        raise BadTaskData(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at byte {exc.start}") from exc


def _from_editor(draft: "TaskDraft") -> str:
    import click
    import yaml

    before = yaml.safe_dump(draft.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    after = click.edit(before, extension=".yaml")
    if after is None or after == before:
        raise Misuse("nothing was changed")
    return after


def _fields(text: str, where: str) -> dict[str, Any]:
    from taskdata.plain_yaml import loaded

    fields = loaded(text, where)
    if not isinstance(fields, dict):
        raise BadTaskData(f"{where}: expected a mapping of fields")
    return fields
