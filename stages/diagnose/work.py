"""The diagnose stage: label the scored trials of a round that have no labels of this version."""

import logging
import time
from collections.abc import Iterator

from stages.diagnose.labels import LABELLER, diagnose
from stages.diagnose.record import Record
from stages.diagnose.signals import Signals, observe
from stages.diagnose.taxonomies import labels_of
from stages.execute.attempt import cause
from taskdata.errors import NightshiftError, StoreUnavailable
from taskdata.schema.diagnosis import Diagnosis
from taskdata.schema.run import StageReport, Trial, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials with a scored leaf and without labels of this version's rules.

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
            record = _record(store, result, tasks[result.trial.task_hash], rule)
            store.record_diagnosis(_diagnosed(record))
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
    return _record(store, result, store.task(trial.task_hash), rule).signals


def _diagnosed(record: Record) -> Diagnosis:
    found = diagnose(record.score.trial_id, record.signals)
    # A trial that did not fail may have made the same mistakes, but they had no consequence.
    return found if found.stage is None else found.model_copy(update={"labels": labels_of(record)})


def _record(store: Store, result: TrialResult, task: Task, rule: SuccessRule) -> Record:
    outcome, score, trial_id = result.outcome, result.score, result.trial.id
    transcript = None if outcome is None else store.transcript_of(outcome)
    if outcome is None or transcript is None or score is None:
        raise NightshiftError(f"trial {trial_id}: its outcome, transcript or score is missing")
    # Asking for the views of what was not delivered would cost as much as the labels.
    views = store.rendered(trial_id) if outcome.deliverables else ()
    signals = observe(task, outcome, transcript, score, views, rule)
    return Record(task, outcome, transcript, score, signals)


def _due(store: Store, run_id: str, round_: int) -> Iterator[TrialResult]:
    for result in store.each_result(run_id, round_):
        score, found = result.score, result.diagnosis
        is_labelled = found is not None and found.labeller == LABELLER
        if not is_labelled and score is not None and score.root.score is not None:
            yield result
