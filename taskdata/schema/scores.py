"""Scores of leaves, nodes and trials. None means not scored; zero is a fact about the agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from taskdata.schema.atomic import EndToEndScore
from taskdata.schema.base import GrowingValue, Value
from taskdata.schema.checkpoint import Rule
from taskdata.schema.panel import JudgeOpinion
from taskdata.schema.planning_score import PlanningScore


class Unscored(StrEnum):
    """Why a leaf has no score."""

    NOT_CONFIGURED = "not_configured"
    """The run has no judge that verifies it."""
    NOT_OBSERVED = "not_observed"
    """It is about tool calls that nobody saw, or about work that was only predicted."""
    NO_VERDICT = "no_verdict"
    """The judge was asked, and refused or gave no readable verdict."""
    CHECK_FAILED = "check_failed"
    """The check looked at what was delivered and did not come to an end."""
    SCRIPT_FAILED = "script_failed"
    """The task's program does not work here: it fails in the same way if nothing is delivered."""

    @property
    def was_asked(self) -> bool:
        """Whether a verifier looked at the agent's work, which may be why it gave no score."""
        return self in (Unscored.NO_VERDICT, Unscored.CHECK_FAILED)


class Shortcoming(StrEnum):
    """What is wrong with a deliverable, as a check can say it without any value."""

    NO_SHEET = "no_sheet"
    NO_TABLE = "no_table"
    NO_COLUMN = "no_column"
    """A table is there, and lacks a column that rows are found by."""
    NO_ROWS = "no_rows"
    NO_VALUES = "no_values"
    """The cells looked at are empty, or have no numbers in them."""
    NO_LIST = "no_list"
    NO_TEXT = "no_text"
    NO_PAGE = "no_page"
    NO_SLIDE = "no_slide"
    NO_SOUND = "no_sound"
    NO_NUMBER = "no_number"
    """An answer states no number."""
    HEAP = "heap"
    """A heap of words without sentences."""
    FORBIDDEN = "forbidden"
    """It has a text that must not be there."""
    UNDECIDED = "undecided"
    """An answer names so many candidates that it states none."""
    TOO_FEW = "too_few"
    TOO_MANY = "too_many"


class CheckFinding(Value):
    """What a check counted and which shortcomings it saw: no expected and no found value."""

    right: int | None = Field(default=None, ge=0)
    """How many of the parts looked at are right; None: the check counts no parts."""
    asked: int | None = Field(default=None, ge=1)
    """How many parts were looked at."""
    shortcomings: tuple[Shortcoming, ...] = ()


class LeafScore(GrowingValue):
    """One verifier's score of one leaf."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {"unscored", "unseen", "panel", "disagreement", "finding"}
    )

    leaf_id: str
    score: float | None = Field(ge=0, le=10)
    """None: unscored; `unscored` says why, `reason` in words."""
    verifier: str
    """Kind, name and version: `check:xlsx_cells@1`, `judge:openai/gpt-5.2@1`."""
    reason: str
    """For the reader of the dashboard: what was found and what was expected."""
    unscored: Unscored | None = None
    """Why there is no score; None where there is one."""
    panel: tuple[JudgeOpinion, ...] = ()
    """What each judge of a panel said, in the order in which they were asked."""
    disagreement: float | None = Field(default=None, ge=0, le=10)
    """How far the judges' scores are apart, the highest minus the lowest; None below two."""
    unseen: tuple[str, ...] = ()
    """What a judge was not shown of the files that the leaf is about, in words."""
    finding: CheckFinding | None = None
    """What a check says beside its reason; None: it is no check, or it could not look."""

    @property
    def told(self) -> str:
        """The reason, and what the judge was not shown."""
        return f"{self.reason} [{'; '.join(self.unseen)}]" if self.unseen else self.reason

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_version(cls, fields: Any) -> Any:
        """Tell the cause from the verifier's name, where a score was stored without one."""
        if not isinstance(fields, dict) or fields.get("score", 0) is not None:
            return fields
        if fields.get("unscored") is not None:
            return fields
        return fields | {"unscored": _cause_by_verifier(str(fields.get("verifier", "")))}

    @model_validator(mode="after")
    def _either_score_or_cause(self) -> Self:
        if (self.score is None) == (self.unscored is None):
            raise ValueError(f"leaf {self.leaf_id!r} needs either a score or why it has none")
        return self


def _cause_by_verifier(verifier: str) -> Unscored:
    kind, _, name = verifier.partition(":")
    if kind == "judge" and name:
        absent = name.startswith("none@")
        return Unscored.NOT_CONFIGURED if absent else Unscored.NO_VERDICT
    if kind == "check" and name:
        return Unscored.CHECK_FAILED
    return Unscored.NOT_CONFIGURED if kind == "script" else Unscored.NOT_OBSERVED


class CallMark(Value):
    """How a prediction compares with the reference's call at its place."""

    aligned: bool
    """It is a call, and could be carried out."""
    tool: bool
    """It is a call of the same tool."""
    arguments: bool
    """With the same arguments, too."""


class AnswerMark(Value):
    """How the last prediction compares with the task's answer."""

    aligned: bool
    """It is an answer."""
    has_reference: bool
    """Whether there is a text to compare it with; False: the task asks for pictures or files."""
    score: float | None = Field(default=None, ge=0, le=1)
    """None: nothing to compare with, or nothing that compares meanings."""
    encoder: str | None = None
    """The sentence encoder behind the score; None: none was needed."""


class StepScore(Value):
    """The predictions of one trial against its reference (GTA, section 4.1)."""

    calls: tuple[CallMark, ...]
    """One for each step of the reference; what was not predicted holds for nothing."""
    answer: AnswerMark
    predicted_calls: int = Field(ge=0)
    predicted_errors: int = Field(ge=0)
    """Of the predicted calls, those that could not be carried out."""


class NodeScore(GrowingValue):
    """Score of a node of the tree beside the share of its weight that was scored."""

    added_later: ClassVar[frozenset[str]] = frozenset({"steps", "rule", "end_to_end", "planning"})

    id: str
    requirement: str
    weight: float
    score: float | None = Field(ge=0, le=10)
    coverage: float = Field(ge=0, le=1)
    leaf: LeafScore | None = None
    children: tuple[NodeScore, ...] = ()
    rule: Rule = "weighted_mean"
    """How the scores of its children have become its own."""
    steps: StepScore | None = None
    """Of a root, where steps were predicted and nothing was done: no leaf of it is scored then."""
    end_to_end: EndToEndScore | None = None
    """Of the root of an atomic task that an agent acted on: beside the score, never inside it."""
    planning: PlanningScore | None = None
    """Of the root of a planning case; the score is ten times its grade."""

    @cached_property
    def unanswered(self) -> float:
        """Share (0-1) of its weight that a verifier was asked about and gave no score on."""
        if self.leaf is not None:
            return float(self.leaf.unscored is not None and self.leaf.unscored.was_asked)
        if self.coverage >= 1.0:
            return 0.0
        if self.rule == "all_required":
            # One open requirement leaves all of it open, one that has failed decides it.
            required = (child for child in self.children if child.weight)
            return float(self.score is None and any(child.unanswered for child in required))
        parts = shares(child.weight for child in self.children)
        unanswered = sum(
            part * child.unanswered for part, child in zip(parts, self.children, strict=True)
        )
        return min(1.0 - self.coverage, unanswered)

    @property
    def lower(self) -> float | None:
        """The least that the score can be: what was asked and not answered counts 0.

        None: no verifier was asked about anything below it.
        """
        if not self.unanswered:
            return self.score
        return (self.score or 0.0) * self._answered

    @property
    def upper(self) -> float | None:
        """The most that the score can be: what was asked and not answered counts 10."""
        if not self.unanswered:
            return self.score
        score = self.score or 0.0
        return min(10.0, score + (10 - score) * (1 - self._answered))

    @property
    def best_judged(self) -> float | None:
        """The most (0-10) that judges could have made of it; None: nothing was scored.

        A leaf that got 0 keeps it: there may have been nothing to judge. So the reference solution
        has 10 here, whatever judges think of it, unless the task is broken.
        """
        if self.leaf is not None:
            was_judged = self.leaf.verifier.startswith("judge:") and self.score
            return 10.0 if was_judged or self.unanswered else self.score
        if self.rule == "all_required":
            required = [child.best_judged for child in self.children if child.weight]
            return 10.0 if required and all(best == 10 for best in required) else self.score
        parts = shares(child.weight for child in self.children)
        counted = [
            (part * (child.coverage + child.unanswered), child.best_judged)
            for part, child in zip(parts, self.children, strict=True)
        ]
        known = [(share, best) for share, best in counted if best is not None]
        total = sum(share for share, _ in known)
        if not total:
            return self.score
        if all(best == 10 for _, best in known):
            return 10.0  # which the sum may miss by rounding
        return sum(share * best for share, best in known) / total

    @property
    def _answered(self) -> float:
        """Share (0-1) of what was asked that has a score."""
        return self.coverage / (self.coverage + self.unanswered)

    def nodes(self) -> Iterator[NodeScore]:
        """Yield this node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.nodes()


def shares(weights: Iterable[float]) -> list[float]:
    """Return what each weight is of their sum; 0 for all where the sum is 0."""
    known = list(weights)
    largest = max(known, default=0.0)
    if largest == 0:
        return [0.0] * len(known)
    # Relative to the largest, so that the sum of extreme weights neither overflows nor rounds to 0.
    relative = [weight / largest for weight in known]
    total = sum(relative)
    return [part / total for part in relative]


class TrialScore(Value):
    """What scoring concluded about one trial."""

    trial_id: str
    root: NodeScore
    scorer_version: str

    @property
    def leaves(self) -> tuple[LeafScore, ...]:
        """Leaf scores, depth first."""
        return tuple(n.leaf for n in self.root.nodes() if n.leaf is not None)

    @property
    def unanswered_leaves(self) -> int:
        """How many leaves a verifier was asked about and gave no score on."""
        causes = (leaf.unscored for leaf in self.leaves)
        return sum(cause is not None and cause.was_asked for cause in causes)
