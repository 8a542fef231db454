"""The diagnose stage: label the scored trials of a round that have no labels yet."""

import logging
import time

from stages.diagnose.labels import diagnose
from stages.diagnose.signals import Signals, observe
from taskdata.errors import NightshiftError
from taskdata.schema.run import StageReport, Trial
from taskdata.store import Store

logger = logging.getLogger(__name__)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials with a root score and without labels.

    A trial lost to infrastructure, or of which no leaf could be scored, says nothing of the agent
    and is never due.
    """
    return [trial.id for trial in _due(store, run_id, round_)]


def do(store: Store, run_id: str, round_: int) -> StageReport:
    """Label every trial that is due, each in its own transaction; one that fails stays due."""
    started = time.monotonic()
    threshold = store.run(run_id).config.threshold
    trials = _due(store, run_id, round_)
    errors = 0
    for trial in trials:
        try:
            store.record_diagnosis(diagnose(trial.id, signals_of(store, trial, threshold)))
        except Exception:  # one trial must not sink the round
            logger.exception("trial %s could not be diagnosed", trial.id)
            errors += 1
    return StageReport(
        stage="diagnose",
        run_id=run_id,
        round=round_,
        due=len(trials),
        done=len(trials) - errors,
        errors=errors,
        seconds=time.monotonic() - started,
    )


def signals_of(store: Store, trial: Trial, threshold: float) -> Signals:
    """Return what can be seen of a trial with a root score.

    Raises:
        NightshiftError: if its outcome, transcript or score is not in the store.
    """
    outcome, transcript = store.outcome(trial.id), store.transcript(trial.id)
    score = store.score(trial.id)
    if outcome is None or transcript is None or score is None:
        raise NightshiftError(f"trial {trial.id}: its outcome, transcript or score is missing")
    task = store.task(trial.task_hash)
    return observe(task, outcome, transcript, score, store.rendered(trial.id), threshold)


def _due(store: Store, run_id: str, round_: int) -> list[Trial]:
    trials = []
    for trial in store.trials_due_for_diagnosis(run_id, round_):
        score = store.score(trial.id)
        if score is not None and score.root.score is not None:
            trials.append(trial)
    return trials
