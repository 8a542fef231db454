"""What a gate found: expectations that did not hold, the rows that broke them, who may go on."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue

from taskdata.schema.base import Sha256, Value

TASKS = "tasks"
"""The gate before a run, which looks at its tasks."""


def _in_order(bounds: tuple[int, int]) -> tuple[int, int]:
    low, high = bounds
    if not 0 <= low <= high:
        raise ValueError(f"expected two numbers, least and most, not {low} and {high}")
    return bounds


Bounds = Annotated[tuple[int, int], AfterValidator(_in_order)]
"""Least and most of a number, both allowed."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A part of a whole, 0 to 1."""


class GateLevel(StrEnum):
    """What happens when an expectation is broken."""

    QUARANTINE = "quarantine"
    """The rows that break it leave; the flow goes on with the rest."""
    STOP = "stop"
    """The flow fails there, with the rows named."""


class GateFailure(Value):
    """One expectation that did not hold, with rows that broke it."""

    expectation: str
    rule: str | None = None
    """Its name, by which a person can override it; None: recorded before it had one."""
    level: GateLevel = GateLevel.STOP
    column: str | None = None
    """The column that it looks at; None: it is about several, or about the table."""
    unexpected_count: int = Field(default=0, ge=0)
    rows: tuple[str, ...] = ()
    """Ids of up to 20 offending rows."""


class GateResult(Value):
    """Outcome of one gate over one batch."""

    gate: str
    run_id: str
    success: bool
    """Whether every expectation at level `stop` holds, so that the flow may go on."""
    rows: int = Field(ge=0)
    """Rows handed over, those in quarantine included."""
    expectations: int = Field(ge=0)
    failures: tuple[GateFailure, ...] = ()
    quarantined: tuple[str, ...] = ()
    """Every id, once, whose row broke an expectation at level `quarantine`."""
    validation_sha256: Sha256 | None = None
    """The full validation result (JSON) in the artifact store."""
    docs_sha256: Sha256 | None = None
    """The same as a page to read (Data Docs, HTML)."""
    code_version: str | None = None
    """Of what held it; None: recorded before this was."""
    rules_sha256: Sha256 | None = None
    """Of the rules that were asked, where a verdict may be used again; None: it is not."""


class ExpectationOutcome(Value):
    """What one expectation found in one pass of a gate, without any value of a row."""

    rule: str
    expectation: str
    """The sentence that people are told, with its limits at that time."""
    type: str
    """The expectation's name in Great Expectations."""
    level: GateLevel
    part: str | None = None
    """What of a row it is about, such as the nodes of a tree; None: the row itself."""
    limits: dict[str, JsonValue] = Field(default_factory=dict)
    """What it was asked with; a long list is told by its length."""
    evaluated: int | None = Field(default=None, ge=0)
    """Values that there were; None: it counts none, or could not be evaluated."""
    unexpected: int | None = Field(default=None, ge=0)
    """Of these, values that broke it."""
    success: bool


class GatePass(Value):
    """One pass of a gate in its history."""

    gate: str
    subject: str
    """The run, refresh, import or bank that the rows were of."""
    release: str | None = None
    """The release that a refresh led to, as `bank@version`."""
    is_run: bool
    success: bool
    rows: int = Field(ge=0)
    quarantined: int = Field(ge=0)
    outcomes: tuple[ExpectationOutcome, ...] = ()
    """Empty: recorded before they were."""
    at: AwareDatetime
