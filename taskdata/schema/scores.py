"""Scores of leaves, nodes and trials. None means not scored; zero is a fact about the agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from taskdata.schema.base import GrowingValue, Value


class LeafScore(Value):
    """One verifier's score of one leaf."""

    leaf_id: str
    score: float | None = Field(ge=0, le=10)
    """None: unscored; `reason` says why."""
    verifier: str
    """Kind, name and version: `check:xlsx_cells@1`, `judge:openai/gpt-5.2@1`."""
    reason: str
    """For the reader of the dashboard: what was found and what was expected."""


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

    added_later: ClassVar[frozenset[str]] = frozenset({"steps"})

    id: str
    requirement: str
    weight: float
    score: float | None = Field(ge=0, le=10)
    coverage: float = Field(ge=0, le=1)
    leaf: LeafScore | None = None
    children: tuple[NodeScore, ...] = ()
    steps: StepScore | None = None
    """Of a root, where steps were predicted and nothing was done: no leaf of it is scored then."""

    def nodes(self) -> Iterator[NodeScore]:
        """Yield this node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.nodes()


class TrialScore(Value):
    """What scoring concluded about one trial."""

    trial_id: str
    root: NodeScore
    scorer_version: str

    @property
    def leaves(self) -> tuple[LeafScore, ...]:
        """Leaf scores, depth first."""
        return tuple(n.leaf for n in self.root.nodes() if n.leaf is not None)
