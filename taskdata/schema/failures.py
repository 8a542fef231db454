"""How often each failure label occurs: counts, and what they are shares of."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from taskdata.schema.base import Value


class RequirementLevel(StrEnum):
    """What a requirement is about (GTA-2, table 10)."""

    LEAF = "A"
    COMPOSITION = "B"
    DELIVERABLE = "C"


class FailureShare(Value):
    """Some of several: trials with a label, or requirements that do not hold."""

    n: int = Field(ge=0)
    of: int = Field(ge=0)
    percent: float | None = None
    """Rounded to two places, as the papers give it; None: of none."""

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
        """Return how many of these are true."""
        return cls(n=sum(having), of=len(having))


class AgentFailures(Value):
    """The failure labels of one agent's first attempts."""

    agent: str
    trials: int = Field(ge=0)
    scored: int = Field(ge=0)
    failed: int = Field(ge=0)
    """Scored and diagnosed as failed."""
    lost: int = Field(ge=0)
    """To infrastructure; they have no other label."""
    labels: dict[str, dict[str, FailureShare]]
    """By kind of label, then by label: shares of the failed trials; of all trials for
    `infrastructure`, of the scored ones for `level`."""
    requirements: dict[RequirementLevel, FailureShare]
    """Of the scored requirements of each level in scored trials, those that do not hold."""
