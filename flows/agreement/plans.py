"""Marks of a run's plans, by its judges and by people, in the shape of a study."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stages.score.planning.scored import CODE
from taskdata.schema.plan_agreement import GivenMarks, PlanRating, Trial
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.run import OutcomeStatus, Run, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store
from taskdata.store.agreement import JUDGE


def marks_of_run(store: Store, run: Run) -> tuple[list[PlanRating], list[Run]]:
    """Return the marks of plans of first attempts, by people and judges, and the runs they are of.

    A rescoring asks about the same plans again, as another judge or as the same one blind: it
    counts with the run that it rescores. One that kept verdicts asked nobody, and is left out.
    """
    source = store.run(run.config.rescores) if run.config.rescores else run
    again = [r for r in reversed(store.runs()) if r.config.rescores == source.id]
    runs = [source, *(r for r in again if not r.config.keeps_verdicts)]
    tasks = store.tasks_of_run(source.id)
    found: list[PlanRating] = []
    for one in runs:
        results = answered_cases(store.results(one.id, round_=0), tasks)
        found += _of_judges(results, tasks)
        if one is source:
            found += _of_people(store, source, results, tasks)
    return found, runs


def answered_cases(results: Sequence[TrialResult], tasks: Mapping[str, Task]) -> list[TrialResult]:
    """Return the trials on planning cases that ended with an answer that could be read."""
    return [
        result
        for result in results
        if tasks[result.trial.task_hash].planning is not None
        and result.outcome is not None
        and result.outcome.status is OutcomeStatus.FINISHED
        and not _is_unreadable(result)
    ]


def plans_of_run(store: Store, run: Run) -> frozenset[Trial]:
    """Return the plans of a run that people can mark."""
    results = answered_cases(store.results(run.id, round_=0), store.tasks_of_run(run.id))
    return frozenset((one.trial.task_id, one.trial.agent, one.trial.repetition) for one in results)


def _is_unreadable(result: TrialResult) -> bool:
    planning = None if result.score is None else result.score.root.planning
    return planning is not None and planning.unreadable


def _of_judges(results: Sequence[TrialResult], tasks: Mapping[str, Task]) -> Iterator[PlanRating]:
    """Yield the marks of a run as those of each of its judges; without any, as those of code.

    What code alone decided is the same for every judge of the run.
    """
    decided = [
        (result, planning, _judge_of(result))
        for result in results
        if (planning := _decided(result)) is not None
    ]
    judges = sorted({judge for _, _, judge in decided if judge})
    for result, planning, judge in decided:
        marks = GivenMarks(grade=planning.grade or 0.0, errors=tuple(planning.errors))
        for rater in [judge] if judge else judges or [CODE]:
            yield PlanRating(
                **_facts(result, tasks),
                rater=rater,
                is_judge=True,
                marks=marks,
                same_as_reference=planning.same_as_reference,
                by_code=not judge,
            )


def _decided(result: TrialResult) -> PlanningScore | None:
    """Return the marks of a plan; None: undecided, unreadable, or without a score."""
    planning = None if result.score is None else result.score.root.planning
    if planning is None or planning.unreadable or planning.correct is None:
        return None
    return planning


def _judge_of(result: TrialResult) -> str:
    """Return the judge that was asked about a plan; empty: code alone decided."""
    leaves = () if result.score is None else result.score.leaves
    labels = (leaf.verifier for leaf in leaves if leaf.verifier.startswith(JUDGE))
    return next((label.removeprefix(JUDGE) for label in labels), "")


def _of_people(
    store: Store, run: Run, results: Sequence[TrialResult], tasks: Mapping[str, Task]
) -> list[PlanRating]:
    by_trial = {result.trial.id: result for result in results}
    return [
        PlanRating(
            **_facts(by_trial[one.trial_id], tasks),
            rater=one.annotator,
            marks=one.marks,
            note=one.note,
        )
        for one in store.plan_annotations(run.id)
        if one.trial_id in by_trial
    ]


def _facts(result: TrialResult, tasks: Mapping[str, Task]) -> dict[str, Any]:
    trial = result.trial
    case = tasks[trial.task_hash].planning
    return {
        "task": trial.task_id,
        "agent": trial.agent,
        "repetition": trial.repetition,
        "source": "" if case is None else case.origin.task_id,
    }
