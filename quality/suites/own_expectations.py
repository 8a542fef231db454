"""Expectations of our own, where none of Great Expectations' says it; importing this takes seconds.

Defining one registers it with Great Expectations, as defining its metric does. A metric's method is
called with its class, whatever decorates it.
"""

from typing import Any, ClassVar, Literal

import pandas as pd
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import (
    ColumnMapExpectation,
    ColumnPairMapExpectation,
)
from great_expectations.expectations.metrics.map_metric_provider.column_condition_partial import (
    column_condition_partial,
)
from great_expectations.expectations.metrics.map_metric_provider.column_map_metric_provider import (
    ColumnMapMetricProvider,
)
from great_expectations.expectations.metrics.map_metric_provider.column_pair_condition_partial import (  # noqa: E501
    column_pair_condition_partial,
)
from great_expectations.expectations.metrics.map_metric_provider.column_pair_map_metric_provider import (  # noqa: E501
    ColumnPairMapMetricProvider,
)

from taskdata.schema.network import private_addresses


class _AmongOthers(ColumnPairMapMetricProvider):
    """Whether a value is one of those that another column lists in the same row."""

    condition_metric_name = "column_pair_values.a_among_b"
    condition_domain_keys = (
        "batch_id",
        "table",
        "column_A",
        "column_B",
        "row_condition",
        "condition_parser",
        "ignore_row_if",
    )
    condition_value_keys = ()

    @column_pair_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column: Any, others: Any, **_: Any) -> Any:  # noqa: N805
        found = [value in listed for value, listed in zip(column, others, strict=True)]
        return pd.Series(found, index=column.index, dtype=bool)


class ExpectColumnPairValuesAToBeAmongB(ColumnPairMapExpectation):
    """Expect each value of column A to be one of those that column B lists in the same row."""

    ignore_row_if: Literal["both_values_are_missing", "either_value_is_missing", "neither"] = (
        "both_values_are_missing"
    )
    map_metric: ClassVar[str] = "column_pair_values.a_among_b"
    success_keys = ("column_A", "column_B", "ignore_row_if", "mostly")
    args_keys = ("column_A", "column_B")


class _PublicHosts(ColumnMapMetricProvider):
    """Whether a host's pattern names no address inside some network."""

    condition_metric_name = "column_values.public_host"
    condition_value_keys = ()

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: Any, **_: Any) -> Any:  # noqa: N805
        found = [not private_addresses([host]) for host in column]
        return pd.Series(found, index=column.index, dtype=bool)


class ExpectColumnValuesToBePublicHosts(ColumnMapExpectation):
    """Expect hosts that name no address inside some network: a machine's own, a cloud's."""

    map_metric: ClassVar[str] = "column_values.public_host"
    success_keys = ("mostly",)
    args_keys = ("column",)
