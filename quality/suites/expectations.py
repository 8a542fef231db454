"""The few expectations that our suites are written in; each one says what it expects in words.

Great Expectations is imported when one is made, for it takes seconds.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from taskdata.schema.gate import GateLevel

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

_LEVEL = "level"


def quarantining(expectations: Iterable["Expectation"]) -> list["Expectation"]:
    """Return the expectations at level `quarantine`; without this they are at level `stop`."""
    from great_expectations.expectations.metadata_types import FailureSeverity

    moved = list(expectations)
    for expectation in moved:
        expectation.meta = {**(expectation.meta or {}), _LEVEL: GateLevel.QUARANTINE.value}
        expectation.severity = FailureSeverity.WARNING
    return moved


def level_of(meta: Mapping[str, Any] | None) -> GateLevel:
    """Return the level that an expectation's `meta` names; `stop` where it names none."""
    return GateLevel((meta or {}).get(_LEVEL, GateLevel.STOP))


def some_rows(says: str) -> "Expectation":
    """Expect at least one row."""
    from great_expectations.expectations.core.expect_table_row_count_to_be_between import (
        ExpectTableRowCountToBeBetween,
    )

    return ExpectTableRowCountToBeBetween(min_value=1, description=says)


def empty(column: str, says: str) -> "Expectation":
    """Expect None in every row: for columns that name faults."""
    from great_expectations.expectations.core.expect_column_values_to_be_null import (
        ExpectColumnValuesToBeNull,
    )

    return ExpectColumnValuesToBeNull(column=column, description=says)


def filled(column: str, says: str) -> "Expectation":
    """Expect a value in every row."""
    from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
        ExpectColumnValuesToNotBeNull,
    )

    return ExpectColumnValuesToNotBeNull(column=column, description=says)


def unique(column: str, says: str) -> "Expectation":
    """Expect no value twice."""
    from great_expectations.expectations.core.expect_column_values_to_be_unique import (
        ExpectColumnValuesToBeUnique,
    )

    return ExpectColumnValuesToBeUnique(column=column, description=says)


def unique_together(columns: Collection[str], says: str) -> "Expectation":
    """Expect no combination of values twice."""
    from great_expectations.expectations.core.expect_compound_columns_to_be_unique import (
        ExpectCompoundColumnsToBeUnique,
    )

    return ExpectCompoundColumnsToBeUnique(column_list=list(columns), description=says)


def between(
    column: str,
    says: str,
    low: float | None = None,
    high: float | None = None,
    *,
    above_low: bool = False,
    tier: str | None = None,
) -> "Expectation":
    """Expect values from `low` (excluded if `above_low`) to `high`, in rows of `tier` if given."""
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )
    from great_expectations.expectations.row_conditions import Column

    return ExpectColumnValuesToBeBetween(
        column=column,
        min_value=low,
        max_value=high,
        strict_min=above_low,
        row_condition=None if tier is None else Column("tier") == tier,
        description=says,
    )


def one_of(column: str, says: str, values: Collection[Any]) -> "Expectation":
    """Expect only these values."""
    from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
        ExpectColumnValuesToBeInSet,
    )

    return ExpectColumnValuesToBeInSet(column=column, value_set=list(values), description=says)


def none_of(
    column: str, says: str, values: Collection[Any], allowed_share: float = 0.0
) -> "Expectation":
    """Expect these values in at most `allowed_share` (0-1) of the rows."""
    from great_expectations.expectations.core.expect_column_values_to_not_be_in_set import (
        ExpectColumnValuesToNotBeInSet,
    )

    return ExpectColumnValuesToNotBeInSet(
        column=column, value_set=list(values), mostly=1 - allowed_share, description=says
    )


def unlike(column: str, says: str, pattern: str) -> "Expectation":
    """Expect texts in which a regular expression matches nowhere, or None."""
    from great_expectations.expectations.core.expect_column_values_to_not_match_regex import (
        ExpectColumnValuesToNotMatchRegex,
    )

    return ExpectColumnValuesToNotMatchRegex(column=column, regex=pattern, description=says)


def like(column: str, says: str, pattern: str) -> "Expectation":
    """Expect texts that match a regular expression."""
    from great_expectations.expectations.core.expect_column_values_to_match_regex import (
        ExpectColumnValuesToMatchRegex,
    )

    return ExpectColumnValuesToMatchRegex(column=column, regex=pattern, description=says)
