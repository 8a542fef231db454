"""One pass of Great Expectations over rows of one shape; what follows from it is for `gates`."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from quality.suites.expectations import ROW, shown_of

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.types.base import DataContextConfig
    from great_expectations.expectations.expectation import Expectation

Row = Mapping[str, Any]

_VALUES_NAMED = 20

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
    """With the columns, and with those whose values are shown where an expectation is broken."""
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """By column, how its values are shown; without one, as they are."""


Validate = Callable[[Frame, Sequence["Expectation"]], dict[str, Any]]


@contextmanager
def validating() -> Iterator[Validate]:
    """Yield a function that validates frames, with Great Expectations to itself."""
    import great_expectations as gx

    with _ONE_AT_A_TIME:
        context = gx.get_context(mode="ephemeral", project_config=_silent_and_in_memory())
        # One definition for all frames: each that is added writes the whole configuration as YAML.
        asset = context.data_sources.add_pandas("rows").add_dataframe_asset("rows")
        yield partial(_validate, asset.add_batch_definition_whole_dataframe("all"))


def _validate(
    rows: "BatchDefinition[Any]", frame: Frame, expectations: Sequence["Expectation"]
) -> dict[str, Any]:
    """Return Great Expectations' validation result as JSON, its unexpected rows named by id.

    `unexpected_index_list` has an entry for every row that breaks an expectation, with its id and
    what is shown of it; parts of one row make one entry. No other value of a row is in the result.
    """
    import great_expectations as gx

    # The default index makes Great Expectations report positions: naming the id column to it costs
    # ten times as much where many rows break an expectation, and tells equal ids not apart.
    result = rows.get_batch({"dataframe": _table(frame)}).validate(
        gx.ExpectationSuite(name=frame.name, expectations=list(expectations)),
        result_format={
            "result_format": "COMPLETE",
            "partial_unexpected_count": 0,
            "return_unexpected_index_query": False,
        },
    )
    validation: dict[str, Any] = result.to_json_dict()  # type: ignore[no-untyped-call]
    for found in validation["results"]:
        _name_rows(found, frame)
    return validation


def _table(frame: Frame) -> "pd.DataFrame":
    import pandas as pd

    columns = list(frame.columns)
    rows = [[row[c] for c in columns] for row in frame.rows]
    # dtype object: pandas would turn None into NaN, and a column of ints with it into floats.
    return pd.DataFrame(rows, columns=columns, dtype=object)


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


def _name_rows(result: dict[str, Any], frame: Frame) -> None:
    """Put ids and what is shown of a row in the place of the positions of unexpected rows."""
    found = result["result"]
    found.pop("unexpected_list", None)
    if "unexpected_index_list" not in found:
        return
    columns = shown_of(result["expectation_config"])
    columns = tuple(c for c in columns if c not in (frame.id_column, ROW))
    broken: dict[int, list[Row]] = {}
    for position in found["unexpected_index_list"]:
        row = frame.rows[position]
        broken.setdefault(row.get(ROW, position), []).append(row)
    found["unexpected_index_list"] = [
        {frame.id_column: str(rows[0][frame.id_column])}
        | {c: _value([_shown(frame, c, row[c]) for row in rows]) for c in columns}
        for rows in broken.values()
    ]
    found["unexpected_index_column_names"] = [frame.id_column]


def _shown(frame: Frame, column: str, value: Any) -> Any:
    """Return what JSON can hold of a value: anything but numbers as text."""
    show = frame.shown.get(column)
    value = value if show is None or value is None else show(value)
    if isinstance(value, list | tuple):
        return _joined([str(item) for item in value])
    if value is None or isinstance(value, str | int):
        return value
    return value if isinstance(value, float) and isfinite(value) else str(value)


def _value(values: Sequence[Any]) -> Any:
    """Return the value of a row, or those of its parts as one text."""
    known = [value for value in values if value is not None]
    return known[0] if len(known) == 1 else _joined(list(map(str, known)))


def _joined(values: Sequence[str]) -> str | None:
    distinct = list(dict.fromkeys(values))
    more = len(distinct) - _VALUES_NAMED
    return ", ".join(distinct[:_VALUES_NAMED]) + (f" and {more} more" if more > 0 else "") or None
