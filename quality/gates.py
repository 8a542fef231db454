"""Gates: suites of expectations that stop a run when the rows handed over break them.

Suites live in `quality/suites`, one per hand-over. `hold` says what it found; whether that stops
the run is the caller's decision, through `require`.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quality.suites.expectations import empty, some_rows
from taskdata.errors import GateFailed
from taskdata.schema.run import GateFailure, GateResult

if TYPE_CHECKING:
    from great_expectations.data_context.types.base import DataContextConfig
    from great_expectations.expectations.expectation import Expectation

_ROWS_NAMED = 20
_VALUES_SHOWN = 3
_VALUE_LENGTH = 60
_NAN_COLUMN = "nan_columns"

# Great Expectations keeps the current context in a process-wide variable, and validating looks it
# up: two contexts in use at once take each other's data sources.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Suite:
    """Expectations over rows of one shape."""

    name: str
    id_column: str
    """The column that names a row to its reader."""
    columns: tuple[str, ...]
    expectations: Callable[[], Sequence["Expectation"]]
    """Makes them when the gate is held; each `description` is what a failure says."""
    may_be_empty: bool = False
    """Whether no rows at all pass: nothing to look at is otherwise a failure."""


def hold(
    suite: Suite, rows: Sequence[Mapping[str, Any]], run_id: str
) -> tuple[GateResult, dict[str, Any]]:
    """Return what the suite says of `rows`, and Great Expectations' validation result as JSON.

    A missing measurement is None. NaN fails the gate, and so does a row without one of the
    suite's columns, for then the expectation on it says nothing.
    """
    with _ONE_AT_A_TIME:
        validation = _validate(suite, rows)
    failures = [_failure(r, suite) for r in validation["results"] if not r["success"]]
    result = GateResult(
        gate=suite.name,
        run_id=run_id,
        success=validation["success"],
        rows=len(rows),
        expectations=len(validation["results"]),
        failures=tuple(failures),
    )
    return result, validation


def require(result: GateResult) -> None:
    """Let a gate that held pass.

    Raises:
        GateFailed: naming the gate, each broken expectation and the rows that broke it.
    """
    if result.success:
        return
    broken = "; ".join(_sentence(failure) for failure in result.failures)
    raise GateFailed(
        f"gate {result.gate!r} stopped run {result.run_id}: {len(result.failures)} of "
        f"{result.expectations} expectations do not hold over {result.rows} rows: {broken}"
    )


def _validate(suite: Suite, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral", project_config=_silent_and_in_memory())
    columns = [*suite.columns, _NAN_COLUMN]
    # dtype object: pandas would turn None into NaN, and a column of ints with it into floats.
    frame = pd.DataFrame(
        [[*(row[c] for c in suite.columns), _nan_columns(row)] for row in rows],
        columns=columns,
        dtype=object,
    )
    batch = (
        context.data_sources.add_pandas("rows")
        .add_dataframe_asset(suite.name)
        .add_batch_definition_whole_dataframe("all")
        .get_batch({"dataframe": frame})
    )
    result = batch.validate(
        gx.ExpectationSuite(name=suite.name, expectations=[*_always(suite), *suite.expectations()]),
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": [suite.id_column],
            "partial_unexpected_count": 0,
        },
    )
    validation: dict[str, Any] = result.to_json_dict()  # type: ignore[no-untyped-call]
    return validation


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


def _always(suite: Suite) -> list["Expectation"]:
    always = [empty(_NAN_COLUMN, "no number is NaN: what is not measured is None")]
    if not suite.may_be_empty:
        always.append(some_rows("there is at least one row to look at"))
    return always


def _nan_columns(row: Mapping[str, Any]) -> str | None:
    names = [name for name, value in row.items() if isinstance(value, float) and value != value]
    return ", ".join(names) or None


def _failure(result: Mapping[str, Any], suite: Suite) -> GateFailure:
    config, found = result["expectation_config"], result["result"]
    column = config["kwargs"].get("column")
    text = config.get("description") or config["type"]
    if not found:
        return GateFailure(expectation=f"{text} (not evaluated: {_cause(result)})", column=column)
    rows = [str(entry[suite.id_column]) for entry in found.get("unexpected_index_list") or ()]
    return GateFailure(
        expectation=text + _values(found, suite),
        column=column,
        unexpected_count=found.get("unexpected_count", 0),
        rows=tuple(dict.fromkeys(rows))[:_ROWS_NAMED],
    )


def _values(found: Mapping[str, Any], suite: Suite) -> str:
    """Return examples of the values that broke an expectation, to be read after it."""
    if "observed_value" in found:
        return f" (found: {found['observed_value']})"
    values = list(dict.fromkeys(str(v) for v in found.get("unexpected_list") or ()))
    ids = {str(entry[suite.id_column]) for entry in found.get("unexpected_index_list") or ()}
    if not values or set(values) <= ids | {"None"}:
        return ""
    shown = [v if len(v) <= _VALUE_LENGTH else v[:_VALUE_LENGTH] + "…" for v in values]
    more = ", …" if len(values) > _VALUES_SHOWN else ""
    return f" (found: {', '.join(shown[:_VALUES_SHOWN])}{more})"


def _cause(result: Mapping[str, Any]) -> str:
    """Return why Great Expectations could not evaluate an expectation, in one line."""
    info = result["exception_info"]
    messages = [i["exception_message"] for i in (info, *info.values()) if _is_exception(i)]
    return " ".join(" ".join(dict.fromkeys(messages)).split()) or "no reason given"


def _is_exception(info: Any) -> bool:
    return isinstance(info, Mapping) and bool(info.get("exception_message"))


def _sentence(failure: GateFailure) -> str:
    if not failure.rows:
        return failure.expectation
    more = failure.unexpected_count - len(failure.rows)
    tail = f" and {more} more" if more > 0 else ""
    return f"{failure.expectation}: {', '.join(failure.rows)}{tail}"
