"""What a check is: a named, versioned, pure function from evidence and arguments to a verdict."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from stages.score.matching import Expected, fold
from taskdata.schema.scores import CheckFinding, Shortcoming
from taskdata.schema.views import View

_MAX_PATTERN = 2_000
"""Characters of a pattern: it is compiled when the task is read."""
_ROWS_PER_EXPECTED, _SPARE_ROWS = 2, 3
_MAX_SETS = 50
"""Sets in a pattern: compiling one such as `[^a]` while ignoring case takes up to 40 ms."""


class CheckArgs(BaseModel):
    """Arguments of a check, as a task writes them; unknown ones are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Verdict:
    """Score 0-10, and for readers of the dashboard what was found and expected."""

    score: float
    reason: str
    finding: CheckFinding | None = None
    """Without any value, for feedback to the agent."""


Evidence = View | str
"""A deliverable's view, or the final answer."""


@dataclass(frozen=True)
class CheckSpec:
    """A check in the library."""

    name: str
    args: type[CheckArgs]
    looks_at: tuple[type, ...]
    """Kinds of view that it can check; `str` is the final answer."""
    function: Callable[[Any, Any], Verdict]
    version: int = 1

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the kinds of file that it can check, and `final answer`."""
        return tuple(
            "final answer" if kind is str else str(kind.model_fields["kind"].default)  # type: ignore[attr-defined]
            for kind in self.looks_at
        )

    @property
    def label(self) -> str:
        """Name and version, which are stored with every score."""
        return f"check:{self.name}@{self.version}"


def passed(reason: str) -> Verdict:
    """Return the full score."""
    return Verdict(10.0, reason)


def failed(reason: str, *shortcomings: Shortcoming) -> Verdict:
    """Return no score."""
    return Verdict(0.0, reason, CheckFinding(shortcomings=shortcomings))


def holds(condition: bool, reason: str) -> Verdict:
    """Return the full score or none."""
    return passed(reason) if condition else failed(reason)


def within(found: float, least: float | None, most: float | None, reason: str) -> Verdict:
    """Return the full score if `found` is within the bounds, else none."""
    if found < (least or 0):
        return failed(reason, Shortcoming.TOO_FEW)
    if most is not None and found > most:
        return failed(reason, Shortcoming.TOO_MANY)
    return passed(reason)


def share(right: int, asked: int, reason: str) -> Verdict:
    """Return 10 x right / asked, at most 10; `asked` is positive."""
    finding = CheckFinding(right=min(right, asked), asked=asked)
    return Verdict(10.0 * min(1.0, right / asked), reason, finding)


def crowded(verdict: Verdict, found: int, allowed: int, what: str) -> Verdict:
    """Return the verdict, reduced to the share `allowed / found` if there are too many.

    Otherwise a check that looks for expected items would reward delivering everything.
    """
    if found <= allowed:
        return verdict
    reason = f"{verdict.reason}; {found} {what} where at most {allowed} are expected"
    before = verdict.finding or CheckFinding()
    shortcomings = (*before.shortcomings, Shortcoming.TOO_MANY)
    finding = before.model_copy(update={"shortcomings": shortcomings})
    return Verdict(verdict.score * allowed / found, reason, finding)


def spare_rows(asked: int) -> int:
    """Return how many rows there may be where `asked` are expected and naming one is enough."""
    return _ROWS_PER_EXPECTED * asked + _SPARE_ROWS


def demanded(
    verdict: Verdict, rows: int, demands: "RowDemands", what: str, most: int | None = None
) -> Verdict:
    """Return the verdict on the expected rows, with what is demanded of all `rows` found.

    `most` is how many there may be where the task does not say; None: any number.
    """
    allowed = demands.max_rows or most
    if allowed is not None:
        verdict = crowded(verdict, rows, allowed, what)
    if demands.all_or_nothing and verdict.score < 10:
        return replace(verdict, score=0.0, reason=f"{verdict.reason}; it is all or nothing")
    return verdict


def _compiles(pattern: str) -> str:
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"a pattern has at most {_MAX_PATTERN} characters")
    if pattern.count("[") > _MAX_SETS:
        raise ValueError(f"a pattern has at most {_MAX_SETS} sets in brackets")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        raise ValueError(f"{pattern!r} is not a regular expression: {exc}") from exc
    return pattern


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("YAML reads yes, no, on and off as truth values: put it in quotes")
    return str(value) if isinstance(value, int | float) else value


def _flat(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    groups = (item if isinstance(item, list | tuple) else [item] for item in value)
    return [alias for group in groups for alias in group]


def _has_text(text: str) -> str:
    if not fold(text):
        raise ValueError("must hold some text")
    return text


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A Python regular expression, searched ignoring case; `^` and `$` match at every line."""

Phrase = Annotated[str, BeforeValidator(_as_text), AfterValidator(_has_text)]

Aliases = Annotated[tuple[Phrase, ...], Field(min_length=1)]
"""Ways to say one thing; any of them is enough."""

Groups = Annotated[tuple[Aliases, ...], Field(min_length=1)]
"""Things that must all be said."""

Forbidden = Annotated[tuple[Phrase, ...], BeforeValidator(_flat)]
"""Things none of which may be said; grouping makes no difference."""

Names = Annotated[tuple[Phrase, ...], Field(min_length=1)]

Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Count = Annotated[int, Field(ge=0)]

Rows = Annotated[tuple[tuple[Expected, ...], ...], Field(min_length=1)]


class RowDemands(CheckArgs):
    """What is demanded of the rows besides the expected values.

    More data rows than `max_rows` lower the score in proportion. Rows may be a sample of what is
    asked for, so without it others do no harm where expected values tell a row from a guess.
    """

    max_rows: Annotated[int, Field(ge=1)] | None = None
    """Where being there is enough: twice the expected rows and three more, unless it is given."""
    all_or_nothing: bool = False
    """A table with any fault scores 0."""


class CountArgs(CheckArgs):
    """How many there may be."""

    min: Count | None = None
    max: Count | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("needs min or max")
        return self

    def verdict(self, found: int, reason: str) -> Verdict:
        """Return the full score if the number is within the bounds, else none."""
        return within(found, self.min, self.max, reason)


def find_all(pattern: str, text: str, most: int = 10_000) -> Sequence[str]:
    """Return the matches in `text`, at most `most`.

    Nothing here limits the time: checks run in processes that are killed (`stages.score.checking`).
    """
    matches = re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE)
    return [match[0] for match in islice(matches, most)]


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the pattern matches all of `text`."""
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None
