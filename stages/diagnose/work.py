"""The diagnose stage: label the scored trials of a round that have no labels yet."""

import logging
import time

from stages.diagnose.labels import diagnose
from stages.diagnose.signals import Signals, observe
from stages.execute.attempt import cause
from taskdata.errors import NightshiftError, StoreUnavailable
from taskdata.schema.run import StageReport, Trial
from taskdata.schema.success import SuccessRule
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials with a scored leaf and without labels.

    A trial lost to infrastructure, or without any scored leaf, says nothing about the agent and is
    never due.
    """
    return [trial.id for trial in _due(store, run_id, round_)]


def do(store: Store, run_id: str, round_: int) -> StageReport:
    """Label every due trial in a transaction of its own; one that cannot be labelled stays due.

    Raises:
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    started = time.monotonic()
    rule = store.run(run_id).config.success
    trials = _due(store, run_id, round_)
    causes = []
    for trial in trials:
        try:
            store.record_diagnosis(diagnose(trial.id, signals_of(store, trial, rule)))
        except StoreUnavailable:
            raise
        except Exception as exc:  # one trial must not sink the round
            _logger.exception("trial %s could not be diagnosed", trial.id)
            causes.append(cause(exc))
    return StageReport(
        stage="diagnose",
        run_id=run_id,
        round=round_,
        due=len(trials),
        done=len(trials) - len(causes),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note=f"{len(causes)} could not be diagnosed: {causes[0]}" if causes else "",
    )


def signals_of(store: Store, trial: Trial, rule: SuccessRule) -> Signals:
    """Return the signals of a trial with a root score.

    Raises:
        NightshiftError: if its outcome, transcript or score is not in the store.
    """
    outcome, transcript = store.outcome(trial.id), store.transcript(trial.id)
    score = store.score(trial.id)
    if outcome is None or transcript is None or score is None:
        raise NightshiftError(f"trial {trial.id}: its outcome, transcript or score is missing")
    task = store.task(trial.task_hash)
    return observe(task, outcome, transcript, score, store.rendered(trial.id), rule)


def _due(store: Store, run_id: str, round_: int) -> list[Trial]:
    trials = []
    for trial in store.trials_due_for_diagnosis(run_id, round_):
        score = store.score(trial.id)
        if score is not None and score.root.score is not None:
            trials.append(trial)
    return trials
