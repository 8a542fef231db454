"""The few expectations that our suites are written in; each one says what it expects in words.

Every one is about columns of the data. What a person is told of it stands in its `description`
(the sentence) and in its `meta`: the level, the rule's name, the part of a row that it is about,
and the column whose value is shown where it is broken.

Great Expectations is imported when one is made, for it takes seconds.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from taskdata.schema.gate import GateLevel

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation
    from great_expectations.expectations.row_conditions import ComparisonCondition

ROW = "of_row"
"""In the rows of a part: the position of the row that it is a part of."""

_LEVEL, _RULE, _SHOWS, _PART = "level", "rule", "shows", "part"


def quarantining(expectations: Iterable["Expectation"]) -> list["Expectation"]:
    """Return the expectations at level `quarantine`; without this they are at level `stop`."""
    from great_expectations.expectations.metadata_types import FailureSeverity

    moved = [_told(e, {_LEVEL: GateLevel.QUARANTINE.value}) for e in expectations]
    for expectation in moved:
        expectation.severity = FailureSeverity.WARNING
    return moved


def rule(name: str, expectation: "Expectation", shows: str | None = None) -> "Expectation":
    """Return the expectation with the name of its rule, by which people know and override it.

    Args:
        name: The rule; without one it is called as the columns that the expectation looks at.
        expectation: What the rule asks.
        shows: The column whose value says what is at fault, where it is another one.
    """
    return _told(expectation, {_RULE: name} | ({} if shows is None else {_SHOWS: shows}))


def of_each(part: str, *expectations: "Expectation") -> list["Expectation"]:
    """Return the expectations as ones over the parts of a row that its column `part` lists."""
    return [_told(expectation, {_PART: part}) for expectation in expectations]


def _told(expectation: "Expectation", more: Mapping[str, str]) -> "Expectation":
    expectation.meta = {**(expectation.meta or {}), **more}
    return expectation


def level_of(meta: Mapping[str, Any] | None) -> GateLevel:
    """Return the level that an expectation's `meta` names; `stop` where it names none."""
    return GateLevel((meta or {}).get(_LEVEL, GateLevel.STOP))


def part_of(meta: Mapping[str, Any] | None) -> str | None:
    """Return the part of a row that an expectation is about; None: the row itself."""
    return (meta or {}).get(_PART)


def rule_of(config: Mapping[str, Any]) -> str:
    """Return the name of an expectation's rule; by default, that of the columns it looks at."""
    named = (config.get("meta") or {}).get(_RULE)
    return str(named or "+".join(columns_of(config)) or config["type"])


def shown_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns whose values are shown where an expectation is broken."""
    shows = (config.get("meta") or {}).get(_SHOWS)
    return (shows,) if shows else columns_of(config)


def columns_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that an expectation looks at, from its configuration as JSON."""
    asked = config["kwargs"]
    single = [asked[name] for name in ("column", "column_A", "column_B") if name in asked]
    return tuple(single or asked.get("column_list") or ())


def some_rows(says: str) -> "Expectation":
    """Expect at least one row."""
    from great_expectations.expectations.core.expect_table_row_count_to_be_between import (
        ExpectTableRowCountToBeBetween,
    )

    return ExpectTableRowCountToBeBetween(min_value=1, description=says)


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
    """Expect no combination of values twice; where one of them is None there is none."""
    from great_expectations.expectations.core.expect_compound_columns_to_be_unique import (
        ExpectCompoundColumnsToBeUnique,
    )

    return ExpectCompoundColumnsToBeUnique(
        column_list=list(columns), ignore_row_if="any_value_is_missing", description=says
    )


def between(
    column: str,
    says: str,
    low: float | None = None,
    high: float | None = None,
    *,
    above_low: bool = False,
    tier: str | None = None,
    where: "ComparisonCondition | None" = None,
) -> "Expectation":
    """Expect values from `low` (excluded if `above_low`) to `high`.

    Args:
        column: A column of numbers.
        says: What is expected, in words.
        low: The least; None: there is none.
        high: The most; None: there is none.
        above_low: Whether `low` itself is too little.
        tier: Only rows of this tier are meant.
        where: Only rows of which this is true are meant, as `holds` returns it.
    """
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )

    return ExpectColumnValuesToBeBetween(
        column=column,
        min_value=low,
        max_value=high,
        strict_min=above_low,
        row_condition=where if tier is None else holds("tier", value=tier),
        description=says,
    )


def holds(
    column: str, *, value: Any = None, at_least: float | None = None
) -> "ComparisonCondition":
    """Return a condition on rows: the column has this value, or at least this much."""
    from great_expectations.expectations.row_conditions import Column

    asked = Column(column)
    return asked == value if at_least is None else asked >= at_least


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


def not_above(column: str, limit: str, says: str) -> "Expectation":
    """Expect values that are at most what the column `limit` says in the same row, or None."""
    from great_expectations.expectations.core import (
        expect_column_pair_values_a_to_be_greater_than_b as pair,
    )

    return pair.ExpectColumnPairValuesAToBeGreaterThanB(
        column_A=limit,
        column_B=column,
        or_equal=True,
        ignore_row_if="either_value_is_missing",
        description=says,
    )


def same(column: str, other: str, says: str) -> "Expectation":
    """Expect two columns to hold the same value in every row, or None in one of them."""
    from great_expectations.expectations.core.expect_column_pair_values_to_be_equal import (
        ExpectColumnPairValuesToBeEqual,
    )

    return ExpectColumnPairValuesToBeEqual(
        column_A=column, column_B=other, ignore_row_if="either_value_is_missing", description=says
    )


def one_pair_of(
    column: str, other: str, says: str, pairs: Collection[tuple[str, str]]
) -> "Expectation":
    """Expect only these pairs of values, or None in one of the columns."""
    from great_expectations.expectations.core.expect_column_pair_values_to_be_in_set import (
        ExpectColumnPairValuesToBeInSet,
    )

    return ExpectColumnPairValuesToBeInSet(
        column_A=column,
        column_B=other,
        value_pairs_set=list(pairs),
        ignore_row_if="either_value_is_missing",
        description=says,
    )


def among(column: str, others: str, says: str) -> "Expectation":
    """Expect each value to be one of those that `others` lists in the same row, or None."""
    from quality.suites.own_expectations import ExpectColumnPairValuesAToBeAmongB

    return ExpectColumnPairValuesAToBeAmongB(
        column_A=column,
        column_B=others,
        ignore_row_if="either_value_is_missing",
        description=says,
    )


def public_hosts(column: str, says: str) -> "Expectation":
    """Expect hosts that name no address inside some network, or None."""
    from quality.suites.own_expectations import ExpectColumnValuesToBePublicHosts

    return ExpectColumnValuesToBePublicHosts(column=column, description=says)
