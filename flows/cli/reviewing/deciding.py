"""The verdicts of a reviewer: approve, reject, send back."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.bank.options import ReviewerOption, reviewer_of
from flows.cli.reviewing.checklists import (
    NoOption,
    NoteOption,
    UnsureOption,
    YesOption,
    answered,
    asked,
    is_asked_here,
    line,
)
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from stages.release.reviewing.votes import Standing
    from taskdata.schema.construct import Candidate
    from taskdata.schema.review import Checklist, Verdict
    from taskdata.store import Store

CandidatesArgument = Annotated[list[str], typer.Argument(help="Candidate or task ids.")]
WhyOption = Annotated[str, typer.Option("--comment", help="Why; a note can stand for it.")]

_DONE: dict[str, str] = {
    "approve": "approved",
    "reject": "rejected",
    "send_back": "sent back",
}
_VERDICTS: "dict[str, Verdict]" = {"r": "reject", "b": "send_back"}


def approve(
    candidates: Annotated[list[str] | None, typer.Argument(help="Candidate or task ids.")] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Every candidate that waits, instead of naming them.")
    ] = False,
    yes: YesOption = False,
    unsure: UnsureOption = None,
    note: NoteOption = None,
    reviewer: ReviewerOption = None,
    comment: Annotated[str, typer.Option(help="Why; needed unless all items have yes.")] = "",
) -> None:
    """Approve candidates: they are part of the next release.

    A terminal asks the items of the checklist, unless --yes, or --unsure for some of them, answers
    all. Elsewhere a --comment is needed without these.
    """
    from stages.release.review import awaiting

    names = list(candidates or ())
    if all_ == bool(names):
        raise Misuse("name the candidates to approve, or give --all")
    store = _store()
    found = _found(store, names or [c.id for c in awaiting(store)], "approve")
    who = reviewer_of(reviewer)
    if not (yes or unsure or note) and is_asked_here():
        for candidate in found:
            _ask(store, candidate, who, comment)
    else:
        checklist = answered(None, unsure, note, rest_is_yes=yes or bool(unsure or note))
        for candidate in found:
            _decide(store, candidate, "approve", who, comment, checklist)
    _say_what_follows(store, found)


def reject(
    candidates: CandidatesArgument,
    comment: WhyOption = "",
    no: NoOption = None,
    unsure: UnsureOption = None,
    yes: YesOption = False,
    note: NoteOption = None,
    reviewer: ReviewerOption = None,
) -> None:
    """Reject candidates, with a reason; also those that a stage fails on each time."""
    checklist = answered(no, unsure, note, rest_is_yes=yes)
    _turn_down(candidates, "reject", reviewer_of(reviewer), comment, checklist)


def send_back(
    candidates: CandidatesArgument,
    comment: WhyOption = "",
    no: NoOption = None,
    unsure: UnsureOption = None,
    yes: YesOption = False,
    note: NoteOption = None,
    reviewer: ReviewerOption = None,
) -> None:
    """Have candidates rewritten, or their trees alone; the model is told what is wrong."""
    checklist = answered(no, unsure, note, rest_is_yes=yes)
    _turn_down(candidates, "send_back", reviewer_of(reviewer), comment, checklist)


def _turn_down(
    names: list[str],
    verdict: "Verdict",
    reviewer: str,
    comment: str,
    checklist: "Checklist",
) -> None:
    """Decide against the candidates, of which each must wait for this verdict: all or none."""
    store = _store()
    found = _found(store, names, verdict)
    for candidate in found:
        _decide(store, candidate, verdict, reviewer, comment, checklist)
    _say_what_follows(store, found)


def _found(store: "Store", names: list[str], verdict: "Verdict") -> "list[Candidate]":
    """Return the candidates, of which each must wait for this verdict: all or none."""
    from stages.release.review import find, require_decidable

    found = {c.id: c for c in (find(store, name) for name in names)}
    if not found:
        raise Misuse("no candidate waits for review; `nightshift review list --all` names them all")
    for candidate in found.values():
        require_decidable(candidate, verdict)
    return list(found.values())


def _ask(store: "Store", candidate: "Candidate", reviewer: str, comment: str) -> None:
    """Ask the items about one candidate, and store the verdict that fits the answers."""
    draft = store.draft(candidate.id)
    checklist = asked(candidate.task_id, draft.title if draft else "")
    verdict: Verdict = "approve"
    if any(one.answer == "no" for one in checklist):
        word = line("r: reject it, b: send it back, anything else: leave it ").lower()
        if word not in _VERDICTS:
            console.say(f"{candidate.task_id}: left as it is")
            return
        verdict = _VERDICTS[word]
    is_clear = verdict == "approve" and all(one.answer == "yes" for one in checklist)
    if not (is_clear or comment or any(one.note for one in checklist)):
        comment = line("Why? ")
    _decide(store, candidate, verdict, reviewer, comment, checklist)


def _decide(
    store: "Store",
    candidate: "Candidate",
    verdict: "Verdict",
    reviewer: str,
    comment: str,
    checklist: "Checklist",
) -> None:
    from stages.release.reviewing.deciding import decide
    from stages.release.reviewing.votes import same_person, standing

    needed = store.refresh(candidate.refresh_id).config.reviewers
    before = standing(store.reviews(candidate.id), needed).votes
    now = decide(store, candidate, verdict, reviewer, comment, checklist)
    earlier = [vote for vote in before if same_person(vote.reviewer, reviewer)]
    again = f" in place of what {earlier[0].reviewer} had decided before" if earlier else ""
    console.say(f"{candidate.task_id}: {_told(now, again)}")


def _told(now: "Standing", again: str) -> str:
    if now.verdict is not None:
        return _DONE[now.verdict]
    if now.is_disputed:
        said = ", ".join(f"{vote.reviewer}: {_DONE[vote.decision]}" for vote in now.votes)
        return f"disputed ({said}); one of you can decide again, or somebody else"
    return f"stored{again}; {len(now.votes)} of {now.needed} reviewers have decided"


def _say_what_follows(store: "Store", found: "list[Candidate]") -> None:
    """Say how the refreshes go on of which some candidate is decided."""
    moved = [c for c in found if store.candidate(c.id) != c]
    for refresh_id in dict.fromkeys(candidate.refresh_id for candidate in moved):
        console.say(f"`nightshift refresh --resume {refresh_id}` carries the refresh on")


def _store() -> "Store":
    from flows.config import load_settings
    from taskdata.store import Store

    return Store.open(load_settings().address)
