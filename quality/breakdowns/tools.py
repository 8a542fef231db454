"""Tool calls that went wrong or came to too much, and success with and without (Toolathlon)."""

from collections.abc import Callable, Sequence

from quality.statistics.intervals import clustered_share
from quality.success import root_sr
from taskdata.schema.agent_detail import FaultSplit
from taskdata.schema.estimate import Estimate
from taskdata.schema.run import TrialOutcome, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.tool_use import ToolUse

Count = Callable[[ToolUse], int | None]


def _wrong_names(use: ToolUse) -> int:
    return use.errors.get(ToolErrorKind.UNKNOWN_TOOL, 0)


def _call_errors(use: ToolUse) -> int:
    return sum(use.errors.values()) - _wrong_names(use)


def _overlong(use: ToolUse) -> int | None:
    return use.overlong


_FAULTS: dict[str, Count] = {
    "wrong_tool_name": _wrong_names,
    "call_error": _call_errors,
    "overlong_output": _overlong,
}


def tool_sr(outcomes: Sequence[tuple[str, TrialOutcome]]) -> Estimate:
    """Return the share of tool calls without error, of outcomes by task id (GTA-2, 4.2.2)."""
    fine: list[bool] = []
    tasks: list[str] = []
    for task, outcome in outcomes:
        if outcome.tool_calls is not None and outcome.tool_errors is not None:
            fine += [n >= outcome.tool_errors for n in range(outcome.tool_calls)]
            tasks += [task] * outcome.tool_calls
    return clustered_share(fine, tasks)


def tool_faults(results: Sequence[TrialResult], rule: SuccessRule) -> dict[str, FaultSplit]:
    """Return each kind of fault: its share of calls and of trials, success with and without it.

    Trials whose calls were not recorded are in none of these figures.
    """
    return {name: _split(results, rule, count) for name, count in _FAULTS.items()}


def _split(results: Sequence[TrialResult], rule: SuccessRule, count: Count) -> FaultSplit:
    known = [(result, found) for result in results if (found := _counts(result, count)) is not None]
    calls = [(r.trial.task_id, n < faults) for r, (faults, of) in known for n in range(of)]
    having = [(r.trial.task_id, faults > 0) for r, (faults, _) in known]
    return FaultSplit(
        calls=_share(calls),
        trials=_share(having),
        root_sr_with=root_sr([r for r, (faults, _) in known if faults], rule),
        root_sr_without=root_sr([r for r, (faults, _) in known if not faults], rule),
    )


def _counts(result: TrialResult, count: Count) -> tuple[int, int] | None:
    """Return how many calls had the fault, and how many there were; None: not recorded."""
    uses = None if result.outcome is None else result.outcome.tool_uses
    if uses is None:
        return None
    faults = [count(use) for use in uses]
    known = [fault for fault in faults if fault is not None]
    return (sum(known), sum(u.calls for u in uses)) if len(known) == len(faults) else None


def _share(values: Sequence[tuple[str, bool]]) -> Estimate:
    return clustered_share([value for _, value in values], [task for task, _ in values])
