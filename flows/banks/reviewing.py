"""The review of a refresh inside Prefect: the flow run pauses and shows a typed form."""

import logging
from datetime import timedelta
from typing import Any, Literal

from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from pydantic import Field

from flows.banks.review_form import description
from stages.release.review import awaiting, sheet
from stages.release.reviewing.deciding import approve_all, decide
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import Candidate
from taskdata.schema.review import ANSWERS, Checklist, ChecklistItem, ItemAnswer, Verdict
from taskdata.store import Store

_logger = logging.getLogger(__name__)

_WAITS = timedelta(days=14)
_POLL_SECONDS = 5
_VERDICTS: dict[str, Verdict] = {
    "approve": "approve",
    "reject": "reject",
    "send": "send_back",
}


def _item(item: ChecklistItem) -> Any:
    return Field(default="not answered", description=item.question)


Given = Literal["not answered", "yes", "no", "unsure"]


class ReviewInput(RunInput):
    """The form in the Prefect UI. The checklist is answered once for all tasks that are meant."""

    decision: Literal[
        "approve all",
        "approve those named",
        "reject all",
        "reject those named",
        "send back those named",
    ]
    tasks: str = Field(default="", description="Task ids, separated by spaces or commas.")
    reviewer: str = Field(min_length=1, description="Your name; stored with the decision.")
    comment: str = Field(
        default="", description="Why; needed unless you approve with yes to all six items."
    )
    realistic: Given = _item(ChecklistItem.REALISTIC)
    unambiguous: Given = _item(ChecklistItem.UNAMBIGUOUS)
    solvable: Given = _item(ChecklistItem.SOLVABLE)
    tools_sufficient: Given = _item(ChecklistItem.TOOLS_SUFFICIENT)
    rubric_right: Given = _item(ChecklistItem.RUBRIC_RIGHT)
    no_personal_data: Given = _item(ChecklistItem.NO_PERSONAL_DATA)


def review_by_form(store: Store, refresh_id: str) -> int:
    """Pause this flow run until no candidate waits for a decision; return how many were made.

    Decisions made from the command line meanwhile count too. A form that does not fit is shown
    again with its faults.
    """
    decided, complaint = 0, ""
    while waiting := awaiting(store, refresh_id):
        form = ReviewInput.with_initial_data(description=_description(store, waiting, complaint))
        answer = pause_flow_run(
            wait_for_input=form, timeout=int(_WAITS.total_seconds()), poll_interval=_POLL_SECONDS
        )
        try:
            decided += apply(store, awaiting(store, refresh_id), answer)
            complaint = ""
        except (Misuse, BadTaskData) as exc:
            _logger.warning("the review form does not fit: %s", exc)
            complaint = str(exc)
    return decided


def apply(store: Store, waiting: list[Candidate], answer: ReviewInput) -> int:
    """Store the decisions of the form; return how many there were.

    Raises:
        Misuse: if it names a task that does not wait, names none, or gives a verdict that does not
            go with the checklist or lacks a reason.
    """
    by_task = {candidate.task_id: candidate for candidate in waiting}
    chosen = waiting
    if answer.decision.endswith("those named"):
        names = answer.tasks.replace(",", " ").split()
        unknown = [name for name in names if name not in by_task]
        if unknown or not names:
            named = f"{unknown[0]!r} does not wait for review" if unknown else "no task is named"
            raise Misuse(f"{named}; waiting: {', '.join(by_task)}")
        chosen = [by_task[name] for name in dict.fromkeys(names)]
    verdict = _VERDICTS[answer.decision.split()[0]]
    for candidate in chosen:
        decide(store, candidate, verdict, answer.reviewer, answer.comment, _checklist(answer))
    return len(chosen)


def approve_unseen(store: Store, refresh_id: str, reviewer: str) -> int:
    """Approve all waiting candidates, as the refresh is configured to; return their number."""
    return approve_all(store, refresh_id, reviewer, "approved without a look, as configured")


def _checklist(answer: ReviewInput) -> Checklist:
    given = ((item, getattr(answer, item.value)) for item in ChecklistItem)
    return tuple(ItemAnswer(item=item, answer=said) for item, said in given if said in ANSWERS)


def _description(store: Store, waiting: list[Candidate], complaint: str) -> str:
    # The form does not know who will read it, so it shows no verdict before all may see it.
    return description([sheet(store, one.id, viewer="") for one in waiting], complaint)
