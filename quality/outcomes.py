"""What each expectation of a validation result found, in numbers: what is kept of it for good."""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from quality.suites.expectations import level_of, part_of, rule_of
from taskdata.schema.gate import ExpectationOutcome

_NO_LIMITS = {
    *("column", "column_A", "column_B", "column_list", "batch_id"),
    *("ignore_row_if", "condition_parser"),
}
_LONGEST_LIST = 20


def expectation_outcomes(validation: Mapping[str, Any]) -> tuple[ExpectationOutcome, ...]:
    """Return what each expectation found, in their order; `validation` is that of `hold`."""
    return tuple(_outcome(result) for result in validation["results"])


def _outcome(result: Mapping[str, Any]) -> ExpectationOutcome:
    config, found = result["expectation_config"], result["result"]
    there = found.get("element_count")
    return ExpectationOutcome(
        rule=rule_of(config),
        expectation=config.get("description") or config["type"],
        type=config["type"],
        level=level_of(config.get("meta")),
        part=part_of(config.get("meta")),
        limits=_limits(config["kwargs"]),
        evaluated=None if there is None else there - found.get("missing_count", 0),
        unexpected=found.get("unexpected_count"),
        success=result["success"],
    )


def _limits(asked: Mapping[str, Any]) -> dict[str, JsonValue]:
    return {
        name: _limit(name, value)
        for name, value in asked.items()
        if name not in _NO_LIMITS and value is not None and (name, value) != ("mostly", 1)
    }


def _limit(name: str, value: Any) -> JsonValue:
    if name == "row_condition" and isinstance(value, Mapping):
        return f"{value['column']['name']} {value['operator']} {value['parameter']}"
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        return f"{len(value)} values"
    limit: JsonValue = value
    return limit
