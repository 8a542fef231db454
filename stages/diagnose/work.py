"""The diagnose stage: label the scored trials of a round that have no labels of this labeller.

Rules label every trial, at once and for nothing. If the run has a labeller, a model, it is asked
about every failed trial afterwards; until then the trial has the labels of the rules, and is due.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stages.diagnose.labelling.labeller import labeller_of
from stages.diagnose.labelling.offer import leaves_open
from stages.diagnose.labelling.work import label_trials
from stages.diagnose.signals import Signals
from stages.diagnose.stored import diagnosed, record_of
from stages.execute.attempt import cause
from taskdata.errors import StoreUnavailable
from taskdata.schema.run import StageReport, Trial, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.store import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ByRules:
    """What the rules did in one pass."""

    due: int
    """Trials that had no labels of the run's labeller."""
    faults: tuple[str, ...]
    """Why trials could not be labelled."""
    left_open: tuple[str, ...]
    """Trials about which the run's model is to be asked."""


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials with a scored leaf and without labels of the run's labeller.

    A trial lost to infrastructure, or without any scored leaf, says nothing about the agent and is
    never due.
    """
    return [result.trial.id for result in _due(store, run_id, round_)]


def do(
    store: Store,
    run_id: str,
    round_: int,
    endpoints: Mapping[str, Sequence[str]] | None = None,
) -> StageReport:
    """Label every due trial in this process; one that cannot be labelled stays due.

    Args:
        store: This process's store.
        run_id: The run.
        round_: The refinement round.
        endpoints: Base URLs of local model servers by model, for a local labeller.

    Raises:
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    started = time.monotonic()
    found = label_by_rules(store, run_id, round_)
    if found.left_open:
        label_trials(store, run_id, found.left_open, endpoints)
    done = report(store, run_id, round_, found)
    return done.model_copy(update={"seconds": time.monotonic() - started})


def label_by_rules(store: Store, run_id: str, round_: int) -> ByRules:
    """Label every due trial by rules, in a transaction of its own.

    Raises:
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    config, tasks = store.run(run_id).config, store.tasks_of_run(run_id)
    were_due, faults, left_open = 0, list[str](), list[str]()
    # Many at once: asked for one by one, they would cost more than the labels themselves.
    for result in _due(store, run_id, round_):
        were_due += 1
        try:
            task = tasks[result.trial.task_hash]
            found = diagnosed(record_of(store, result, task, config.success))
            # The errors of a plan are on record with its score; there is nothing to add.
            is_work = task.planning is None
            if is_work and config.labeller is not None and leaves_open(found):
                left_open.append(found.trial_id)
            else:
                found = found.model_copy(update={"labeller": labeller_of(config)})
            store.record_diagnosis(found)
        except StoreUnavailable:
            raise
        except Exception as exc:  # one trial must not sink the round
            _logger.exception("trial %s could not be diagnosed", result.trial.id)
            faults.append(cause(exc))
    return ByRules(were_due, tuple(faults), tuple(left_open))


def report(store: Store, run_id: str, round_: int, found: ByRules) -> StageReport:
    """Return what became of the trials that were due; `done` are those with labels of the rules."""
    notes = []
    if found.faults:
        notes.append(f"{len(found.faults)} could not be diagnosed: {found.faults[0]}")
    unasked = list(unasked_of(store, run_id, round_, found.left_open).values())
    if unasked:
        why = unasked[0] or "the labeller was not asked"
        notes.append(f"{len(unasked)} have labels of rules alone: {why}")
    return StageReport(
        stage="diagnose",
        run_id=run_id,
        round=round_,
        due=found.due,
        done=found.due - len(found.faults),
        errors=len(found.faults) + len(unasked),
        note="; ".join(notes),
    )


def unasked_of(
    store: Store, run_id: str, round_: int, trial_ids: Sequence[str]
) -> dict[str, str | None]:
    """Return those of the trials that the labeller was not asked about, with the recorded cause."""
    wanted = set(trial_ids)
    found = (one for one in _due(store, run_id, round_) if one.trial.id in wanted)
    asked = {
        one.trial.id: None if one.diagnosis is None else one.diagnosis.by_model
        for one in (found if wanted else ())
    }
    return {trial: None if one is None else one.error for trial, one in asked.items()}


def signals_of(store: Store, trial: Trial, rule: SuccessRule) -> Signals:
    """Return the signals of a trial with a root score.

    Raises:
        NightshiftError: if its outcome, transcript or score is not in the store.
    """
    result = TrialResult(trial=trial, outcome=store.outcome(trial.id), score=store.score(trial.id))
    return record_of(store, result, store.task(trial.task_hash), rule).signals


def _due(store: Store, run_id: str, round_: int) -> Iterator[TrialResult]:
    labeller = labeller_of(store.run(run_id).config)
    for result in store.each_result(run_id, round_):
        score, found = result.score, result.diagnosis
        is_labelled = found is not None and found.labeller == labeller
        if not is_labelled and score is not None and score.root.score is not None:
            yield result
