"""The rows of the table of trials, and the states a trial can be in."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboards.pages import formats
from taskdata.schema.failures import RunFailures
from taskdata.schema.night import FailureCluster
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
    failure_type: str
    levels: str
    """Levels of the trial's own that fail, apart by spaces."""
    failed_levels: str
    """Levels of the requirements that do not hold, apart by spaces."""
    cluster: str
    """Short key of its cluster; empty: it is in none."""
    turns: int | None
    seconds: float | None


MOST_CLUSTERS = 50
"""So many clusters are on the page, those of most trials."""
MOST_TRIALS = 2_000
"""So many trials are on the page: each has a row, of about a kilobyte, and its details."""


_OF_EACH_CLUSTER = 10
"""So many trials of a cluster are on the page whatever else is."""


def trials_on_page(
    results: Sequence[TrialResult],
    most: int = MOST_TRIALS,
    clusters: Sequence[FailureCluster] = (),
) -> Sequence[TrialResult]:
    """Return the trials that the page lists, in the order of `results`.

    Of more than `most`, these are some trials of each cluster, and the first repetitions, task by
    task and with all agents, rounds and arms, so that agents can still be compared.
    """
    if len(results) <= most:
        return results

    examples = {one for c in clusters[:MOST_CLUSTERS] for one in c.trial_ids[:_OF_EACH_CLUSTER]}

    def place(result: TrialResult) -> tuple[bool, int, str, str, int]:
        trial = result.trial
        is_example = trial.id in examples
        return not is_example, trial.repetition, trial.task_id, trial.agent, trial.round

    chosen = {result.trial.id for result in sorted(results, key=place)[:most]}
    return [result for result in results if result.trial.id in chosen]


def trial_rows(
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    rule: SuccessRule,
    failures: RunFailures | None = None,
) -> list[TrialRow]:
    """Return one row per trial.

    Args:
        results: The trials.
        tasks: By content hash.
        rule: What success is.
        failures: Why trials failed; None: rows say nothing of clusters and requirements.
    """
    clusters = () if failures is None else failures.clusters
    cluster_of = {trial: c.short_key for c in clusters for trial in c.trial_ids}
    levels = {} if failures is None else failures.failed_levels
    return [
        _row(
            result,
            tasks[result.trial.task_hash],
            rule,
            cluster_of.get(result.trial.id, ""),
            " ".join(level.value for level in levels.get(result.trial.id, ())),
        )
        for result in results
    ]


def state(result: TrialResult) -> str:
    """Return how the trial ended, or why it has not."""
    if result.outcome is None:
        return "due"
    if result.is_infrastructure_error:
        return "infrastructure error"
    ending = result.outcome.ending
    return formats.words(ending.value) if ending else formats.words(result.outcome.status.value)


def _row(
    result: TrialResult, task: Task, rule: SuccessRule, cluster: str, failed_levels: str
) -> TrialRow:
    trial, outcome, diagnosis = result.trial, result.outcome, result.diagnosis
    stage = None if diagnosis is None else diagnosis.stage
    kind = None if diagnosis is None else diagnosis.type
    levels = () if diagnosis is None else diagnosis.levels
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
        failure_type="" if kind is None else kind.value,
        levels=" ".join(name for name, is_there in levels if is_there),
        failed_levels=failed_levels,
        cluster=cluster,
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
