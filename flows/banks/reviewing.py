"""The review of a refresh inside Prefect: the flow run pauses and shows a typed form."""

import logging
from datetime import timedelta
from typing import Literal

from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from pydantic import Field

from flows.publishing import plain
from stages.release.review import approve_all, awaiting, decide
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import Candidate
from taskdata.store import Store

_logger = logging.getLogger(__name__)

_WAITS = timedelta(days=14)
_POLL_SECONDS = 5
_EXCERPT = 400


class ReviewInput(RunInput):
    """The form in the Prefect UI."""

    decision: Literal["approve all", "approve those named", "reject all", "reject those named"]
    tasks: str = Field(default="", description="Task ids, separated by spaces or commas.")
    reviewer: str = Field(min_length=1, description="Your name; stored with the decision.")
    comment: str = Field(default="", description="Why; a rejection needs one.")


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
        Misuse: if it names a task that does not wait, names none, or rejects without a reason.
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
    decision: Literal["approve", "reject"] = (
        "approve" if answer.decision.startswith("approve") else "reject"
    )
    for candidate in chosen:
        decide(store, candidate, decision, answer.reviewer, answer.comment)
    return len(chosen)


def approve_unseen(store: Store, refresh_id: str, reviewer: str) -> int:
    """Approve all waiting candidates, as the refresh is configured to; return their number."""
    return approve_all(store, refresh_id, reviewer, "approved without a look, as configured")


def _description(store: Store, waiting: list[Candidate], complaint: str) -> str:
    lines = [f"**{plain(complaint)}**\n"] if complaint else []
    lines.append(f"{len(waiting)} tasks wait for your decision.\n")
    for candidate in waiting:
        draft = store.draft(candidate.id)
        if draft is None:
            continue
        query = draft.query if len(draft.query) <= _EXCERPT else draft.query[:_EXCERPT] + " …"
        lines.append(f"- **{plain(candidate.task_id)}**: {plain(draft.title)}. {plain(query)}")
    lines.append(
        "\n`nightshift review show TASK` shows a task in full, with its seed and every step."
    )
    return "\n".join(lines)
