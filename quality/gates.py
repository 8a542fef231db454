"""Gates: suites of expectations that keep rows back, or stop the flow, where they are broken.

Suites live in `quality/suites`, one per hand-over. An expectation at level `quarantine` takes the
rows that break it out of the flow; one at level `stop`, the default, stops the flow. `hold` says
what it found; whether that stops anything is the caller's decision, through `require`.

A gate is held in passes. First, over all rows, come the expectations at level `quarantine`; rows
that break one leave, with every row of the same id. Then the expectations at level `stop` are
judged over the rows that are left, and last the limits on the distribution of what is left:
nothing is measured on rows that do not go on.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quality.loading import load_great_expectations
from quality.suites.expectations import (
    ROW,
    between,
    level_of,
    part_of,
    rule,
    rule_of,
    some_rows,
)
from quality.validation import Frame, Row, Validate, validating
from taskdata.errors import GateFailed
from taskdata.schema.base import Value
from taskdata.schema.gate import GateFailure, GateLevel, GateResult
from taskdata.schema.quarantine import Finding
from taskdata.version import code_version

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

_ROWS_NAMED = 20
_VALUES_SHOWN = 3
_VALUE_LENGTH = 60
_GROUPS_SHOWN = 30
_GROUP = "group"
_SOME_ROWS = "rows"
_NAN_VALUES, _NAN_COLUMNS = "nan_values", "nan_columns"
"""How many of a row's values are NaN, and of which columns; every suite looks at it."""


@dataclass(frozen=True)
class Distribution:
    """Limits on what the rows that are left are together, such as shares of a group."""

    columns: tuple[str, ...]
    """Measures of a group, beside its name in the column `group`; None where it has none."""
    groups: Callable[[Sequence[Row]], list[dict[str, Any]]]
    """Derives one row per group from the rows that are left."""
    expectations: Callable[[], Sequence["Expectation"]]
    """Over the groups; always at level `stop`, for no single row breaks one."""


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
    distribution: Distribution | None = None
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of what a row lists, by the column that lists it: the nodes of a tree, the files of
    a task. Each is validated as a table of its own; a row leaves with all its parts."""
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """How values of a column are shown that may not be as they are, by column."""


def hold(
    suite: Suite,
    rows: Sequence[Row],
    run_id: str,
    overridden: Mapping[str, Collection[str]] | None = None,
) -> tuple[GateResult, dict[str, Any]]:
    """Return what the suite says of `rows`, and Great Expectations' validation results as one JSON.

    A missing measurement is None. NaN fails the gate. A gate that leaves no row fails too, and
    so does an expectation at level `quarantine` that cannot say which rows break it.

    Args:
        suite: The expectations.
        rows: One mapping per row, with the columns of the suite.
        run_id: The run, refresh or import that the rows are of.
        overridden: By id, the rules at level `quarantine` that a person lets that row break.

    Raises:
        KeyError: if a row lacks a column or part of the suite: no expectation would speak of it.
    """
    load_great_expectations()
    expectations = suite.expectations()
    sorting = [e for e in expectations if level_of(e.meta) is GateLevel.QUARANTINE]
    stopping = [e for e in expectations if level_of(e.meta) is GateLevel.STOP]
    ids = [str(row[suite.id_column]) for row in rows]
    with validating() as validate:
        passes = _passes(validate, suite, rows, sorting) if sorting and rows else []
        for done in passes:
            _let_through(done["results"], overridden or {})
        gone = {i for done in passes for r in done["results"] if _leaves_rows(r) for i in _ids(r)}
        kept = [row for row, row_id in zip(rows, ids, strict=True) if row_id not in gone]
        passes += _passes(validate, suite, kept, [*_always(suite, bool(gone)), *stopping])
        if suite.distribution is not None and kept:
            passes.append(_judge_distribution(validate, suite, suite.distribution, kept))
    results = [result for done in passes for result in done["results"]]
    failures = tuple(_failure(result) for result in results if not result["success"])
    result = GateResult(
        gate=suite.name,
        run_id=run_id,
        success=all(failure.level is not GateLevel.STOP for failure in failures),
        rows=len(rows),
        expectations=len(results),
        failures=failures,
        quarantined=tuple(dict.fromkeys(row_id for row_id in ids if row_id in gone)),
        code_version=code_version(),
    )
    return result, _joined(passes, results, result)


def still_holds(results: Sequence[GateResult], gate: str, rules: Value) -> bool:
    """Return whether the gate held under this code and these rules: it would over the same rows.

    Args:
        results: What is recorded of the gates.
        gate: Name of the suite.
        rules: What the gate asks now.
    """
    version, asked = code_version(), rules_sha256(rules)
    found = [r for r in results if r.gate == gate and r.code_version == version]
    held = any(r.success and r.rules_sha256 == asked for r in found)
    return held and not version.endswith(".dirty")


def rules_sha256(rules: Value) -> str:
    """Return the hash of a gate's rules, by which verdicts under other limits are told apart."""
    return hashlib.sha256(rules.model_dump_json().encode()).hexdigest()


def require(result: GateResult) -> None:
    """Let a gate that held pass, whatever rows it keeps in quarantine.

    Raises:
        GateFailed: naming the gate, each broken expectation at level `stop` and the rows that
            broke it.
    """
    if result.success:
        return
    stops = [failure for failure in result.failures if failure.level is GateLevel.STOP]
    if len(result.quarantined) == result.rows:
        # That no row is left is no reason; what put them all into quarantine is.
        stops = list(result.failures)
    broken = "; ".join(_sentence(failure) for failure in stops)
    raise GateFailed(
        f"gate {result.gate!r} stopped run {result.run_id}: {len(stops)} of "
        f"{result.expectations} expectations do not hold over {result.rows} rows: {broken}"
    )


def quarantine_findings(validation: Mapping[str, Any]) -> dict[str, tuple[Finding, ...]]:
    """Return which rules each row in quarantine breaks, by id; `validation` is that of `hold`."""
    findings: dict[str, list[Finding]] = {}
    gate = f"gate {validation['suite_name']}"
    for result in validation["results"]:
        if not _leaves_rows(result):
            continue
        config = result["expectation_config"]
        for entry in result["result"]["unexpected_index_list"]:
            id_column = result["result"]["unexpected_index_column_names"][0]
            value = _shown(entry, id_column)
            found = None if value is None else _shortened(value)
            finding = Finding(gate=gate, rule=rule_of(config), reason=_says(config), value=found)
            findings.setdefault(entry[id_column], []).append(finding)
    return {row_id: tuple(dict.fromkeys(found)) for row_id, found in findings.items()}


def quarantine_reasons(validation: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return why each row in quarantine is there, by id; `validation` as `hold` returns it."""
    return {
        row_id: tuple(dict.fromkeys(finding.sentence for finding in found))
        for row_id, found in quarantine_findings(validation).items()
    }


def _let_through(
    results: Sequence[dict[str, Any]], overridden: Mapping[str, Collection[str]]
) -> None:
    """Take the rows that may break a rule out of the results of this rule."""
    for result in results:
        config, found = result["expectation_config"], result["result"]
        allowed = {
            row_id for row_id in _ids(result) if rule_of(config) in overridden.get(row_id, ())
        }
        if not allowed:
            continue
        id_column = found["unexpected_index_column_names"][0]
        left = [e for e in found["unexpected_index_list"] if e[id_column] not in allowed]
        found["unexpected_index_list"], found["unexpected_count"] = left, len(left)
        config["description"] = f"{_says(config)} (overridden for {', '.join(sorted(allowed))})"
        result["success"] = not left


def _passes(
    validate: Validate, suite: Suite, rows: Sequence[Row], expectations: Sequence["Expectation"]
) -> list[dict[str, Any]]:
    """Return the validation results of the rows, and of each part that an expectation is about."""
    about: dict[str | None, list[Expectation]] = {None: []}
    for expectation in expectations:
        about.setdefault(part_of(expectation.meta), []).append(expectation)
    return [
        validate(_frame(suite, rows) if part is None else _part_frame(suite, part, rows), own)
        for part, own in about.items()
        if own
    ]


def _frame(suite: Suite, rows: Sequence[Row]) -> Frame:
    measured = [{**row, **_nan(row, suite.parts)} for row in rows]
    columns = (*suite.columns, _NAN_VALUES)
    return Frame(suite.name, suite.id_column, columns, measured, suite.shown)


def _part_frame(suite: Suite, part: str, rows: Sequence[Row]) -> Frame:
    listed = [
        {**inner, ROW: position, suite.id_column: row[suite.id_column]}
        for position, row in enumerate(rows)
        for inner in row[part]
    ]
    columns = (ROW, *suite.parts[part])
    return Frame(f"{suite.name}: {part}", suite.id_column, columns, listed, suite.shown)


def _nan(row: Row, parts: Iterable[str]) -> dict[str, Any]:
    """Return how many values of a row and of its parts are NaN, and their columns."""
    names = _nan_columns(row)
    for part in parts:
        names += [f"{part}.{name}" for inner in row[part] for name in _nan_columns(inner)]
    return {_NAN_VALUES: len(names), _NAN_COLUMNS: names}


def _nan_columns(row: Row) -> list[str]:
    # Nothing but NaN differs from itself.
    return [name for name, value in row.items() if value != value]


def _always(suite: Suite, some_left: bool) -> list["Expectation"]:
    says = "no number is NaN: what is not measured is None"
    always = [rule(_NAN_COLUMNS, between(_NAN_VALUES, says, high=0), shows=_NAN_COLUMNS)]
    if some_left:
        says = "there is at least one row left that is not in quarantine"
        always.append(rule(_SOME_ROWS, some_rows(says)))
    elif not suite.may_be_empty:
        always.append(rule(_SOME_ROWS, some_rows("there is at least one row to look at")))
    return always


def _judge_distribution(
    validate: Validate, suite: Suite, limits: Distribution, kept: Sequence[Row]
) -> dict[str, Any]:
    groups = limits.groups(kept)
    frame = Frame(f"{suite.name} together", _GROUP, (_GROUP, *limits.columns), groups)
    validation = validate(frame, limits.expectations())
    for result in validation["results"]:
        if not result["result"]:
            continue
        # Great Expectations shows of a passing map expectation only that nothing broke it.
        column = result["expectation_config"]["kwargs"]["column"]
        measured = [f"{g[_GROUP]}: {g[column]:g}" for g in groups if g[column] is not None]
        more = ", …" if len(measured) > _GROUPS_SHOWN else ""
        judged = result["result"]["element_count"]
        shown = ", ".join(measured[:_GROUPS_SHOWN]) + more if judged else ""
        result["result"]["observed_value"] = shown or "too few rows to judge"
    return validation


def _leaves_rows(result: Mapping[str, Any]) -> bool:
    """Whether a result is broken at level `quarantine` by rows that it names."""
    level = level_of(result["expectation_config"].get("meta"))
    return not result["success"] and level is GateLevel.QUARANTINE and bool(_ids(result))


def _ids(result: Mapping[str, Any]) -> list[str]:
    found = result["result"]
    entries = found.get("unexpected_index_list") or ()
    return [entry[found["unexpected_index_column_names"][0]] for entry in entries]


def _failure(result: Mapping[str, Any]) -> GateFailure:
    config, found = result["expectation_config"], result["result"]
    about: dict[str, Any] = {"rule": rule_of(config), "column": config["kwargs"].get("column")}
    text = _says(config)
    if not found:
        return GateFailure(expectation=f"{text} (not evaluated: {_cause(result)})", **about)
    ids = _ids(result)
    return GateFailure(
        expectation=text + _values(found),
        level=GateLevel.QUARANTINE if _leaves_rows(result) else GateLevel.STOP,
        unexpected_count=len(ids) or found.get("unexpected_count", 0),
        rows=tuple(dict.fromkeys(ids))[:_ROWS_NAMED],
        **about,
    )


def _says(config: Mapping[str, Any]) -> str:
    return str(config.get("description") or config["type"])


def _values(found: Mapping[str, Any]) -> str:
    """Return examples of the values that broke an expectation, to be read after it."""
    entries = found.get("unexpected_index_list") or ()
    if not entries and "observed_value" in found:
        return f" (found: {found['observed_value']})"
    id_column = (found.get("unexpected_index_column_names") or [""])[0]
    values = [v for v in dict.fromkeys(_shown(entry, id_column) for entry in entries) if v]
    if not values:
        return ""
    shown = ", ".join(_shortened(value) for value in values[:_VALUES_SHOWN])
    more = ", …" if len(values) > _VALUES_SHOWN else ""
    return f" (found: {shown}{more})"


def _shown(entry: Mapping[str, Any], id_column: str) -> str | None:
    """Return what is shown of an unexpected row beside its id."""
    values = [str(v) for column, v in entry.items() if column != id_column and v is not None]
    return ", ".join(values) or None


def _shortened(value: str) -> str:
    return value if len(value) <= _VALUE_LENGTH else value[:_VALUE_LENGTH] + "…"


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


def _joined(
    passes: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]], outcome: GateResult
) -> dict[str, Any]:
    """Return the passes as one validation result, which succeeds where the gate does."""
    held = sum(result["success"] for result in results)
    run = {"run_name": outcome.run_id, "run_time": datetime.now(UTC).isoformat()}
    return {
        **passes[0],
        "success": outcome.success,
        "suite_name": outcome.gate,
        "results": list(results),
        "statistics": {
            "evaluated_expectations": len(results),
            "successful_expectations": held,
            "unsuccessful_expectations": len(results) - held,
            "success_percent": 100 * held / len(results),
        },
        "meta": {**passes[0]["meta"], "run_id": run},
    }
