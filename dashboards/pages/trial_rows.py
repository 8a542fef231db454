"""The rows of the table of trials, and the states a trial can be in."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboards.pages import formats
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task


class TrialRow(NamedTuple):
    """One trial in the table; everything is text as it stands there, but for the numbers."""

    trial_id: str
    agent: str
    task_id: str
    title: str
    category: str
    round: int
    repetition: int
    score: float | None
    upper: float | None
    """What the score would be if no verdict were missing from it; else the same."""
    verdict: str
    """`succeeded`, `failed`, `open`, `undecided`, `unscored`, `infrastructure` or `due`: the
    coarsest filter."""
    state: str
    failure_stage: str
    turns: int | None
    seconds: float | None


def trial_rows(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], rule: SuccessRule
) -> list[TrialRow]:
    """Return one row per trial; `tasks` by content hash."""
    return [_row(result, tasks[result.trial.task_hash], rule) for result in results]


def state(result: TrialResult) -> str:
    """Return how the trial ended, or why it has not."""
    if result.outcome is None:
        return "due"
    if result.is_infrastructure_error:
        return "infrastructure error"
    ending = result.outcome.ending
    return formats.words(ending.value) if ending else formats.words(result.outcome.status.value)


def _row(result: TrialResult, task: Task, rule: SuccessRule) -> TrialRow:
    trial, outcome, diagnosis = result.trial, result.outcome, result.diagnosis
    stage = None if diagnosis is None else diagnosis.stage
    return TrialRow(
        trial_id=trial.id,
        agent=trial.agent,
        task_id=trial.task_id,
        title=task.title[:160],
        category=trial.category,
        round=trial.round,
        repetition=trial.repetition,
        score=result.root_score,
        upper=result.root_score_upper,
        verdict=_verdict(result, rule),
        state=state(result),
        failure_stage="" if stage is None else formats.words(stage.value),
        turns=None if outcome is None else outcome.turns,
        seconds=None if outcome is None else outcome.wall_seconds,
    )


def _verdict(result: TrialResult, rule: SuccessRule) -> str:
    if result.is_infrastructure_error:
        return "infrastructure"
    if result.outcome is None:
        return "due"
    verdict = result.verdict(rule)
    return "unscored" if verdict is None else verdict.value
