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
    arm: str
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


MOST_TRIALS = 2_000
"""So many trials are on the page: each has a row, of about a kilobyte, and its details."""


def trials_on_page(
    results: Sequence[TrialResult], most: int = MOST_TRIALS
) -> Sequence[TrialResult]:
    """Return the trials that the page lists, in the order of `results`.

    Of more than `most`, these are the first repetitions, task by task and with all agents, rounds
    and arms, so that agents can still be compared.
    """
    if len(results) <= most:
        return results

    def place(result: TrialResult) -> tuple[int, str, str, int]:
        trial = result.trial
        return trial.repetition, trial.task_id, trial.agent, trial.round

    chosen = {result.trial.id for result in sorted(results, key=place)[:most]}
    return [result for result in results if result.trial.id in chosen]


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
        arm=trial.arm,
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
