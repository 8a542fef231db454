"""Checkpoint trees: requirement nodes with weights, whose leaves say how they are verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from taskdata.schema.base import GrowingValue, RelativePath, Slug, Value


class Check(Value):
    """A deterministic verifier: a named function over one deliverable, or the final answer."""

    kind: Literal["check"] = "check"
    name: Slug
    """Name in the check library (`stages/score/checks`)."""
    deliverable: str | None = None
    """File name of the deliverable looked at; None: the final answer."""
    args: dict[str, Any] = Field(default_factory=dict)


class Judge(Value):
    """An LLM scores the leaf 0-10 against a rubric; unscored where no judge is configured."""

    kind: Literal["judge"] = "judge"
    rubric: str = Field(min_length=1)
    deliverables: tuple[str, ...] = ()
    """Files shown to the judge; empty: the final answer alone."""


class ToolResultCheck(Value):
    """A deterministic verifier over the tool log of the trial."""

    kind: Literal["tool_result"] = "tool_result"
    tools: tuple[str, ...] = Field(min_length=1)
    """Any of these tools must have been called without error."""
    contains: tuple[str, ...] = ()
    """Texts that must all occur (case-insensitive) in one such call's result."""


FOREIGN_VERDICTS = ("exit_code", "reward_file")
"""Verdicts of other benchmarks' programs (Toolathlon, Harbor), each on a task as a whole."""


class ScriptCheck(GrowingValue):
    """A program that the task brings among its evaluation files decides.

    Leaves with the same program and settings share one run of it.
    """

    added_later: ClassVar[frozenset[str]] = frozenset(
        {"verdict", "full_score", "seconds", "memory_mb", "services"}
    )

    kind: Literal["script"] = "script"
    entry: RelativePath
    """Path of the program (`.py`, `.sh`) within the task's evaluation files."""
    verdict: Literal["exit_code", "last_line", "json_file", "reward_file"] = "exit_code"
    """How it says its verdict: exit code 0 or 1, a score on the last line of its output,
    `result.json` in its output folder, or a reward from 0 to 1 in a file below /logs/verifier
    (Harbor)."""
    full_score: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """The score that it gives for a perfect result; its scale begins at 0."""
    seconds: int = Field(default=120, ge=1, le=3600)
    """CPU time that it may use; it may take three times as long and a minute more."""
    memory_mb: int = Field(default=2048, ge=64, le=65536)
    services: tuple[Slug, ...] = ()
    """Names of the task's services that run beside it, each in its final state."""


class AskedAgain(Value):
    """A deterministic verifier of what changes with time: it calls a tool right after the trial.

    The answer is kept with the trial, so that every later scoring uses the same answer.
    """

    kind: Literal["asked_again"] = "asked_again"
    tool: str = Field(min_length=1)
    """A tool of the task or of its MCP servers."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    path: str = Field(default="", max_length=500)
    """Path of the value in a JSON answer, such as `rates[0].EUR`; empty: the whole text."""
    first_chars: int | None = Field(default=None, ge=1)
    """Number of the value's first characters that are used, such as 10 for the day of a time."""
    check: Check
    """`{answer}` in its arguments stands for the value."""


class PlanGrade(Value):
    """The leaf of a planning case: its score is ten times the plan's grade (APB, section 3.3)."""

    kind: Literal["plan_grade"] = "plan_grade"


Verifier = Annotated[
    Check | Judge | ToolResultCheck | ScriptCheck | AskedAgain | PlanGrade,
    Field(discriminator="kind"),
]


def checked_by_code(verifier: Verifier | None) -> Check | None:
    """Return the verifier's check, None if the verifier has none."""
    if isinstance(verifier, AskedAgain):
        return verifier.check
    return verifier if isinstance(verifier, Check) else None


Rule = Literal["weighted_mean", "all_required"]
"""How the scores of its children become the score of a node: their weighted mean (GTA-2, section
3.3.5), or 10 if every child with a weight passes and 0 if one does not (TOBench, section 4.3)."""


class Checkpoint(GrowingValue):
    """A node of the tree: a leaf has a verifier, an inner node has children."""

    added_later: ClassVar[frozenset[str]] = frozenset({"rule", "passes_from"})

    id: Slug
    requirement: str = Field(min_length=1)
    """What must hold of the outcome, readable without the task."""
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    verifier: Verifier | None = None
    children: tuple[Checkpoint, ...] = ()
    rule: Rule = "weighted_mean"
    passes_from: float = Field(default=10.0, gt=0, le=10)
    """With `all_required`: the score from which on a child passes."""

    @model_validator(mode="after")
    def _leaf_or_inner(self) -> Checkpoint:
        if (self.verifier is None) == (not self.children):
            raise ValueError(
                f"checkpoint {self.id!r} needs either a verifier (leaf) or children (inner node)"
            )
        if self.verifier is not None and self.rule != "weighted_mean":
            raise ValueError(f"checkpoint {self.id!r} is a leaf: a rule is for nodes with children")
        return self

    def nodes(self) -> Iterator[Checkpoint]:
        """Yield this node and all below it, depth first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def leaves(self) -> tuple[Checkpoint, ...]:
        """Return the leaves, depth first."""
        return tuple(node for node in self.nodes() if node.verifier is not None)

    def depth(self) -> int:
        """Return the number of levels: 1 for a single leaf."""
        return 1 + max((child.depth() for child in self.children), default=0)

    def checkable_share(self) -> float:
        """Return the share (0-1) of the tree's weight whose leaves code can verify."""
        if self.verifier is not None:
            return 0.0 if isinstance(self.verifier, Judge) else 1.0
        total = sum(child.weight for child in self.children)
        if total == 0:
            return 0.0
        return sum(child.weight * child.checkable_share() for child in self.children) / total
