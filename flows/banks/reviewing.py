"""The review of a refresh inside Prefect: the flow run pauses and shows a typed form."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from pydantic import BaseModel, ConfigDict, Field, create_model

from flows.banks.review_form import about, in_field, introduction
from stages.release.review import ReviewSheet, awaiting, sheet
from stages.release.reviewing.deciding import approve_all, decide
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import Candidate
from taskdata.schema.review import (
    Checklist,
    ChecklistItem,
    ItemAnswer,
    Verdict,
)
from taskdata.store import Store

TASKS_PER_FORM = 5
"""Each has a section of its own in the form; the tasks after them are in the next form."""

_logger = logging.getLogger(__name__)

_WAITS = timedelta(days=14)
_POLL_SECONDS = 5
_LATER: Final = "decide later"
_YES_TO_ALL: Final = "approve, yes to all six"
_NOT_ANSWERED: Final = "not answered"
_VERDICTS: Mapping[str, Verdict] = {
    _YES_TO_ALL: "approve",
    "approve": "approve",
    "reject": "reject",
    "send back": "send_back",
}

Chosen = Literal["decide later", "approve, yes to all six", "approve", "reject", "send back"]
Given = Literal["not answered", "yes", "no", "unsure"]


def _item(item: ChecklistItem) -> Any:
    return Field(default="not answered", description=item.question)


class TaskAnswer(BaseModel):
    """What a reviewer says about one task."""

    model_config = ConfigDict(extra="forbid")

    verdict: Chosen = _LATER
    comment: str = Field(
        default="", description="Why; needed unless you approve with yes to all six items."
    )
    realistic: Given = _item(ChecklistItem.REALISTIC)
    unambiguous: Given = _item(ChecklistItem.UNAMBIGUOUS)
    solvable: Given = _item(ChecklistItem.SOLVABLE)
    tools_sufficient: Given = _item(ChecklistItem.TOOLS_SUFFICIENT)
    rubric_right: Given = _item(ChecklistItem.RUBRIC_RIGHT)
    no_personal_data: Given = _item(ChecklistItem.NO_PERSONAL_DATA)


class Refused(NamedTuple):
    """An answer about a task that was not stored."""

    given: TaskAnswer
    fault: str


class Section(NamedTuple):
    """The part of the form that is about one task."""

    sheet: ReviewSheet
    given: TaskAnswer = TaskAnswer()
    """What is chosen in it already."""
    fault: str = ""
    """Why that was not stored before; empty: it was not sent yet."""


class ReviewInput(RunInput):
    """The form in the Prefect UI, without the sections of its tasks."""

    reviewer: str


def form_for(sections: Sequence[Section], waiting: int, reviewer: str = "") -> type[ReviewInput]:
    """Return the form with these sections in their order.

    Args:
        sections: One for each task.
        waiting: How many tasks wait for a decision, those without a section included.
        reviewer: Who is in the form already; empty: nobody.
    """
    named: dict[str, Any] = {} if not reviewer else {"default": reviewer}
    told = in_field(introduction(len(sections), waiting))
    # The UI shows no description of a form that is higher than its window, but those of fields.
    fields: dict[str, Any] = {"reviewer": (str, Field(min_length=1, description=told, **named))}
    fields |= {
        _name(place): (
            TaskAnswer,
            Field(
                default=section.given,
                title=section.sheet.candidate.task_id,
                description=in_field(about(section.sheet, section.fault)),
            ),
        )
        for place, section in enumerate(sections)
    }
    return create_model("ReviewInput", __base__=ReviewInput, **fields)


def review_by_form(store: Store, refresh_id: str) -> int:
    """Pause this flow run until no candidate waits for a decision; return how many were made.

    Decisions made from the command line meanwhile count too. Tasks whose answers do not fit are
    shown again with their faults; after them come tasks that were in no form yet.
    """
    decided, reviewer = 0, ""
    shown, refused = Counter[str](), dict[str, Refused]()
    while waiting := awaiting(store, refresh_id):
        waiting.sort(key=lambda one: (one.id not in refused, shown[one.id]))
        chosen = waiting[:TASKS_PER_FORM]
        sections = [_section(store, one, refused.get(one.id)) for one in chosen]
        answer = pause_flow_run(
            wait_for_input=form_for(sections, len(waiting), reviewer if refused else ""),
            timeout=int(_WAITS.total_seconds()),
            poll_interval=_POLL_SECONDS,
            # Prefect would number the forms, and a retried flow run would meet answers to old ones.
            key=uuid4().hex,
        )
        shown.update(one.id for one in chosen)
        made, refused = apply(store, chosen, answer)
        decided, reviewer = decided + made, answer.reviewer
        for one in refused.values():
            _logger.warning("an answer of the review form does not fit: %s", one.fault)
    return decided


def apply(
    store: Store, candidates: Sequence[Candidate], answer: ReviewInput
) -> tuple[int, dict[str, Refused]]:
    """Store the decisions of the form.

    Args:
        store: The store of the candidates.
        candidates: Those that the form has sections for, in their order.
        answer: The form as it was sent.

    Returns:
        How many decisions were stored, and by candidate id why the others were not: a verdict that
        does not go with its checklist or lacks a reason, answers without a verdict, or a task that
        somebody else has decided about meanwhile.
    """
    made, refused = 0, dict[str, Refused]()
    for place, candidate in enumerate(candidates):
        given: TaskAnswer = getattr(answer, _name(place))
        try:
            # The flow run has been paused, so the candidate may have moved on.
            made += _decide(store, store.candidate(candidate.id), answer.reviewer, given)
        except (Misuse, BadTaskData) as exc:
            refused[candidate.id] = Refused(given, str(exc))
    return made, refused


def _decide(store: Store, candidate: Candidate, reviewer: str, given: TaskAnswer) -> bool:
    """Store the decision, if there is one; return whether there is."""
    if given.verdict == _LATER:
        if given != TaskAnswer():
            raise Misuse(f"{candidate.task_id!r} has answers, but no verdict")
        return False
    verdict = _VERDICTS[given.verdict]
    decide(store, candidate, verdict, reviewer, given.comment, _checklist(given))
    return True


def approve_unseen(store: Store, refresh_id: str, reviewer: str) -> int:
    """Approve all waiting candidates, as the refresh is configured to; return their number."""
    return approve_all(store, refresh_id, reviewer, "approved without a look, as configured")


def _name(place: int) -> str:
    return f"task_{place + 1}"


def _section(store: Store, candidate: Candidate, refused: Refused | None) -> Section:
    # The form does not know who will read it, so it shows no verdict before all may see it.
    seen = sheet(store, candidate.id, viewer="")
    return Section(seen) if refused is None else Section(seen, *refused)


def _checklist(given: TaskAnswer) -> Checklist:
    said = {item: getattr(given, item.value) for item in ChecklistItem}
    left = "yes" if given.verdict == _YES_TO_ALL else None
    answers = ((item, left if answer == _NOT_ANSWERED else answer) for item, answer in said.items())
    return tuple(ItemAnswer(item=item, answer=answer) for item, answer in answers if answer)
