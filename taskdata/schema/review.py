"""The checklist of a reviewer, and how far the reviewers of a refresh agree."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.estimate import Estimate

Answer = Literal["yes", "no", "unsure"]
ANSWERS: tuple[Answer, ...] = ("yes", "no", "unsure")

Verdict = Literal["approve", "reject", "send_back"]
"""What a reviewer decides about a candidate as a whole."""
VERDICTS: tuple[Verdict, ...] = ("approve", "reject", "send_back")

NOTE_CHARACTERS = 2_000


class ChecklistItem(StrEnum):
    """What a reviewer of a task answers."""

    REALISTIC = "realistic"
    UNAMBIGUOUS = "unambiguous"
    SOLVABLE = "solvable"
    TOOLS_SUFFICIENT = "tools_sufficient"
    RUBRIC_RIGHT = "rubric_right"
    NO_PERSONAL_DATA = "no_personal_data"

    @property
    def question(self) -> str:
        """The item as a question to which `yes` is good."""
        return _QUESTIONS[self]


_QUESTIONS = {
    ChecklistItem.REALISTIC: "Would somebody ask for this at work?",
    ChecklistItem.UNAMBIGUOUS: "Does the query leave no doubt about what is to be delivered?",
    ChecklistItem.SOLVABLE: "Can it be solved with the files that come with it?",
    ChecklistItem.TOOLS_SUFFICIENT: "Are the allowed tools sufficient?",
    ChecklistItem.RUBRIC_RIGHT: "Does the checkpoint tree score what the query asks, and rightly?",
    ChecklistItem.NO_PERSONAL_DATA: "Is it free of personal data?",
}


class ItemAnswer(Value):
    """A reviewer's answer to one item of the checklist."""

    item: ChecklistItem
    answer: Answer
    note: str = Field(default="", max_length=NOTE_CHARACTERS)

    def __str__(self) -> str:
        return f"{self.item.value}: {self.answer}" + (f" ({self.note})" if self.note else "")


Checklist = tuple[ItemAnswer, ...]
"""Answers in the order of the items; an item without an answer is not in it."""

ALL_YES: Checklist = tuple(ItemAnswer(item=item, answer="yes") for item in ChecklistItem)


class ItemAgreement(Value):
    """How far two reviewers agree on one item of the checklist, or on the verdict."""

    item: str
    """Name of the item, or `verdict`."""
    tasks: int
    """Drafts to which two reviewers gave an answer without knowing each other's."""
    agreed: int
    """Pairs of equal answers."""
    pairs: int
    kappa: Estimate
    """Cohen's kappa of the answers as categories, -1 to 1; of several pairs of reviewers, the mean
    weighted by their tasks. No mean: it is undefined."""


class ReviewAgreement(Value):
    """How far the reviewers of tasks agree."""

    reviewers: tuple[str, ...]
    tasks: int
    """Drafts that two or more people reviewed without knowing each other's answers."""
    items: tuple[ItemAgreement, ...]
    """The verdict, then the items of the checklist."""
