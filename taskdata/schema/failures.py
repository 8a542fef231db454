"""How often each failure label occurs: counts, and the totals for their shares."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from taskdata.schema.base import Value
from taskdata.schema.night import FailureCluster


class RequirementLevel(StrEnum):
    """The level of a requirement (GTA-2, table 10)."""

    LEAF = "A"
    COMPOSITION = "B"
    DELIVERABLE = "C"


class FailureShare(Value):
    """A count and its total: trials with a label, or requirements that do not hold."""

    n: int = Field(ge=0)
    of: int = Field(ge=0)
    percent: float | None = None
    """The share in percent, rounded to two places as in the papers; None: the total is 0."""

    @model_validator(mode="before")
    @classmethod
    def _with_percent(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or not fields.get("of"):
            return fields
        return fields | {"percent": round(100 * fields["n"] / fields["of"], 2)}

    @model_validator(mode="after")
    def _some_of_all(self) -> Self:
        if self.n > self.of:
            raise ValueError(f"{self.n} cannot be some of {self.of}")
        return self

    @classmethod
    def of_all(cls, having: Collection[bool]) -> Self:
        """Return the number of true values with the number of all values."""
        return cls(n=sum(having), of=len(having))


class GroupFailures(Value):
    """The failure labels of the first attempts of one group: of an agent, a category, ..."""

    group: str
    """Its name, such as that of the agent."""
    trials: int = Field(ge=0)
    scored: int = Field(ge=0)
    failed: int = Field(ge=0)
    """Number of trials that were scored and diagnosed as failed."""
    lost: int = Field(ge=0)
    """Number of trials lost to infrastructure; they have no other label."""
    labels: dict[str, dict[str, FailureShare]]
    """Shares by kind of label, then by label. The total is the failed trials, but all trials for
    `infrastructure` and the scored trials for `level`."""
    given_by: dict[str, FailureShare] = Field(default_factory=dict)
    """How many of all labels of failed trials `rules` and a `model` gave, where a model was asked.
    """
    of_model: dict[str, dict[str, int]] = Field(default_factory=dict)
    """By kind and label, how many of `labels` a model gave; only those that occur."""
    asked: int = Field(default=0, ge=0)
    """Number of failed trials that a model was asked about."""
    rejected: int = Field(default=0, ge=0)
    """Of these, how many have labels of rules alone because the model's replies were rejected."""
    requirements: dict[RequirementLevel, FailureShare]
    """By level, the share of the scored requirements in scored trials that do not hold."""


class Grouping(StrEnum):
    """What failures are counted by."""

    AGENT = "agent"
    MODEL = "model"
    HARNESS = "harness"
    CATEGORY = "category"
    DELIVERABLE_TYPE = "deliverable_type"
    LEAVES = "leaves"


class RunFailures(Value):
    """Why the first attempts of a run failed: causes, and how often each label occurs."""

    clusters: tuple[FailureCluster, ...]
    """Of agents that compete, the largest first."""
    groups: dict[Grouping, tuple[GroupFailures, ...]]
    """Controls are among the agents and in no other group."""
    failed_levels: dict[str, tuple[RequirementLevel, ...]]
    """By trial, the levels at which a requirement does not hold; left out where all hold."""
    agents: dict[str, dict[Grouping, tuple[str, ...]]]
    """By name of a competing agent, its groups."""
    tasks: dict[str, dict[Grouping, tuple[str, ...]]]
    """By id of a task, its groups."""
