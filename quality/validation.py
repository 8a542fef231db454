"""One pass of Great Expectations over rows of one shape; what follows from it is for `gates`."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from great_expectations.data_context.types.base import DataContextConfig
    from great_expectations.datasource.fluent.interfaces import Batch
    from great_expectations.expectations.expectation import Expectation

Row = Mapping[str, Any]

NAN_COLUMN = "nan_columns"
"""Names a row's columns that are NaN; every frame has it beside its own columns."""

# Great Expectations keeps the current context in a process-wide variable, and validating looks it
# up: two contexts in use at once take each other's data sources.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Frame:
    """Rows of one shape, and the column that names a row to its reader."""

    name: str
    id_column: str
    columns: tuple[str, ...]
    rows: Sequence[Row]


def validate(frame: Frame, expectations: Sequence["Expectation"]) -> dict[str, Any]:
    """Return Great Expectations' validation result as JSON, its unexpected rows named by id.

    `unexpected_index_list` has an entry for every row that breaks an expectation, with its id and
    its value; `unexpected_list` ends after Great Expectations' 200 values.
    """
    rows = [{**row, NAN_COLUMN: _nan_columns(row)} for row in frame.rows]
    with _ONE_AT_A_TIME:
        validation = _validation(frame, rows, expectations)
    for result in validation["results"]:
        _name_rows(result, rows, frame.id_column)
    return validation


def _validation(
    frame: Frame, rows: Sequence[Row], expectations: Sequence["Expectation"]
) -> dict[str, Any]:
    import great_expectations as gx

    # The default index makes Great Expectations report positions: naming the id column to it costs
    # ten times as much where many rows break an expectation, and tells equal ids not apart.
    result = _batch(frame, rows).validate(
        gx.ExpectationSuite(name=frame.name, expectations=list(expectations)),
        result_format={
            "result_format": "COMPLETE",
            "partial_unexpected_count": 0,
            "return_unexpected_index_query": False,
        },
    )
    validation: dict[str, Any] = result.to_json_dict()  # type: ignore[no-untyped-call]
    return validation


def _batch(frame: Frame, rows: Sequence[Row]) -> "Batch":
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral", project_config=_silent_and_in_memory())
    columns = [*frame.columns, NAN_COLUMN]
    # dtype object: pandas would turn None into NaN, and a column of ints with it into floats.
    data = pd.DataFrame([[row[c] for c in columns] for row in rows], columns=columns, dtype=object)
    return (
        context.data_sources.add_pandas("rows")
        .add_dataframe_asset(frame.name)
        .add_batch_definition_whole_dataframe("all")
        .get_batch({"dataframe": data})
    )


def _silent_and_in_memory() -> "DataContextConfig":
    """Return a configuration without files, progress bars or usage statistics."""
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    return DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
        analytics_enabled=False,
    )


def _nan_columns(row: Row) -> str | None:
    names = [name for name, value in row.items() if isinstance(value, float) and value != value]
    return ", ".join(names) or None


def _name_rows(result: dict[str, Any], rows: Sequence[Row], id_column: str) -> None:
    """Put ids and values in the place of the positions of unexpected rows."""
    found, asked = result["result"], result["expectation_config"]["kwargs"]
    if "unexpected_index_list" not in found:
        return
    columns = asked.get("column_list") or [asked["column"]]
    found["unexpected_index_list"] = [
        {id_column: str(rows[position][id_column])}
        | {c: _plain(rows[position][c]) for c in columns if c != id_column}
        for position in found["unexpected_index_list"]
    ]
    found["unexpected_index_column_names"] = [id_column]


def _plain(value: Any) -> Any:
    """Return what JSON can hold: anything else as text."""
    if value is None or isinstance(value, str | int):
        return value
    return value if isinstance(value, float) and isfinite(value) else str(value)
