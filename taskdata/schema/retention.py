"""Which runs stay: the rules of `[retention]` and of `nightshift prune`."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from taskdata.schema.base import Value
from taskdata.schema.run import Run

_AGE = re.compile(r"([0-9]{1,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def age(value: Any) -> Any:
    """Return the age that text such as `30d` says; anything else as it is.

    Raises:
        ValueError: if it is text that says no age.
    """
    if not isinstance(value, str):
        return value
    found = _AGE.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"{value!r} is no age; expected such as 36h, 30d or 8w")
    return int(found[1]) * _UNITS[found[2]]


Age = Annotated[timedelta, BeforeValidator(age)]
"""An age: hours, days or weeks, as in `36h`, `30d`, `8w`."""


class KeepRule(Value):
    """Which runs stay; a run that any part of the rule keeps stays."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    older_than: Age | None = Field(default=None, gt=timedelta(0))
    """A run that ended less long ago stays; empty: age keeps none."""
    keep: int | None = Field(default=None, ge=0)
    """So many of the newest runs stay, beside their rescorings; empty: their number keeps none."""
    always_keep: tuple[str, ...] = ()
    """Ids of runs that stay whatever their age."""

    @property
    def says_something(self) -> bool:
        """Whether there is a rule at all; without one everything stays."""
        return self.older_than is not None or self.keep is not None


def kept_by(rule: KeepRule, runs: Sequence[Run], now: datetime) -> dict[str, str]:
    """Return by id why runs stay, of those that do.

    Args:
        rule: What keeps them.
        runs: Newest first.
        now: From which ages are counted.
    """
    if not rule.says_something:
        return {run.id: "no rule removes any" for run in runs}
    reasons = {}
    evaluations = [run.id for run in runs if run.config.rescores is None]
    newest = set(evaluations[: rule.keep or 0])
    for run in runs:
        if run.id in rule.always_keep:
            reasons[run.id] = "always_keep names them"
        elif run.id in newest:
            reasons[run.id] = f"among the newest {rule.keep}"
        elif (
            rule.older_than is not None
            and now - (run.finished_at or run.created_at) <= rule.older_than
        ):
            reasons[run.id] = "younger than the age"
    return reasons


def with_needed(
    reasons: Mapping[str, str], run_ids: Collection[str], needed: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return why runs stay with those added that are needed, by the reason in `needed`."""
    added = dict(reasons)
    for reason, ids in needed.items():
        added |= {run_id: reason for run_id in ids if run_id in run_ids and run_id not in added}
    return added
