"""The diagnose stage: label the scored trials of a round that have no labels yet."""

import logging
import time
from collections.abc import Iterator

from stages.diagnose.labels import diagnose
from stages.diagnose.signals import Signals, observe
from stages.execute.attempt import cause
from taskdata.errors import NightshiftError, StoreUnavailable
from taskdata.schema.run import StageReport, Trial, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials with a scored leaf and without labels.

    A trial lost to infrastructure, or without any scored leaf, says nothing about the agent and is
    never due.
    """
    return [result.trial.id for result in _due(store, run_id, round_)]


def do(store: Store, run_id: str, round_: int) -> StageReport:
    """Label every due trial in a transaction of its own; one that cannot be labelled stays due.

    Raises:
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    started = time.monotonic()
    rule, tasks = store.run(run_id).config.success, store.tasks_of_run(run_id)
    were_due, causes = 0, []
    # Many at once: asked for one by one, they would cost more than the labels themselves.
    for result in _due(store, run_id, round_):
        were_due += 1
        try:
            signals = _signals(store, result, tasks[result.trial.task_hash], rule)
            store.record_diagnosis(diagnose(result.trial.id, signals))
        except StoreUnavailable:
            raise
        except Exception as exc:  # one trial must not sink the round
            _logger.exception("trial %s could not be diagnosed", result.trial.id)
            causes.append(cause(exc))
    return StageReport(
        stage="diagnose",
        run_id=run_id,
        round=round_,
        due=were_due,
        done=were_due - len(causes),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note=f"{len(causes)} could not be diagnosed: {causes[0]}" if causes else "",
    )


def signals_of(store: Store, trial: Trial, rule: SuccessRule) -> Signals:
    """Return the signals of a trial with a root score.

    Raises:
        NightshiftError: if its outcome, transcript or score is not in the store.
    """
    result = TrialResult(trial=trial, outcome=store.outcome(trial.id), score=store.score(trial.id))
    return _signals(store, result, store.task(trial.task_hash), rule)


def _signals(store: Store, result: TrialResult, task: Task, rule: SuccessRule) -> Signals:
    outcome, score, trial_id = result.outcome, result.score, result.trial.id
    transcript = None if outcome is None else store.transcript_of(outcome)
    if outcome is None or transcript is None or score is None:
        raise NightshiftError(f"trial {trial_id}: its outcome, transcript or score is missing")
    # Asking for the views of what was not delivered would cost as much as the labels.
    views = store.rendered(trial_id) if outcome.deliverables else ()
    return observe(task, outcome, transcript, score, views, rule)


def _due(store: Store, run_id: str, round_: int) -> Iterator[TrialResult]:
    for result in store.each_result(run_id, round_):
        score = result.score
        if result.diagnosis is None and score is not None and score.root.score is not None:
            yield result
