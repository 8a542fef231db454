"""A result that was made elsewhere: answer, files, and effort."""

from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from environments.sandbox.collect import Collected
from stages.execute.attempt import Counts
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.formats.documents import decode
from taskdata.formats.rows import RowRefused
from taskdata.schema.base import Value
from taskdata.schema.task import Task
from taskdata.schema.usage import Usage

MAX_ANSWER_BYTES = 1 << 20
_MOST = (1 << 31) - 1
"""Largest value of a database column."""


class Effort(Value):
    """Effort for a result as its maker states it; None: unknown, never 0."""

    model_config = ConfigDict(strict=True)

    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    turns: int | None = Field(default=None, ge=0, le=_MOST)
    tool_calls: int | None = Field(default=None, ge=0, le=_MOST)
    tool_errors: int | None = Field(default=None, ge=0, le=_MOST)
    input_tokens: int | None = Field(default=None, ge=0, le=_MOST)
    output_tokens: int | None = Field(default=None, ge=0, le=_MOST)
    model: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _whole(self) -> "Effort":
        if (self.input_tokens is None) != (self.output_tokens is None):
            raise ValueError("input_tokens and output_tokens: give both or neither")
        if self.tool_errors is not None and self.tool_errors > (self.tool_calls or 0):
            raise ValueError("tool_errors: more than tool_calls")
        return self

    @property
    def counts(self) -> Counts:
        """The effort as the counts of an outcome."""
        known = self.input_tokens is not None and self.output_tokens is not None
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return Counts(
            usage=Usage.model_validate(tokens) if known else None,
            cost_usd=self.cost_usd,
            turns=self.turns,
            tool_calls=self.tool_calls,
            tool_errors=self.tool_errors,
            model_id=self.model,
        )


@dataclass(frozen=True)
class Result:
    """One system's work on one task."""

    final_answer: str
    """Empty if there is none."""
    files: Collected
    effort: Effort


def read_effort(where: str, fields: Any) -> Effort:
    """Return the effort that a mapping states.

    Raises:
        BadTaskData: if the mapping is invalid; names the file and the field.
    """
    try:
        return Effort.model_validate(fields)
    except ValidationError as exc:
        raise BadTaskData(f"{where}: {describe(exc)}") from exc


def read_json(where: str, data: bytes) -> Any:
    """Return the value of an untrusted JSON document.

    Raises:
        BadTaskData: if it is not JSON in UTF-8, or nests too deeply.
    """
    try:
        return decode(data.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{where}: not UTF-8 at byte {exc.start}") from exc
    except RowRefused as exc:
        raise BadTaskData(f"{where}: {exc}") from exc


def answer_text(data: bytes) -> str:
    """Return a final answer as text; invalid UTF-8 and NUL are replaced."""
    return data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}").strip()


def names_of(task: Task) -> tuple[str, ...]:
    """Return the names of a task in results: its id, then its key in its original data set."""
    keys = (
        kept["key"]
        for kept in task.extras.values()
        if isinstance(kept, dict) and isinstance(kept.get("key"), str)
    )
    return (task.id, *keys)
