"""The refine stage: plan another attempt, with feedback, at every trial that did not succeed."""

import logging
import time

from stages.diagnose.work import signals_of
from stages.execute.attempt import cause
from stages.execute.harness import harness_takes_feedback
from stages.refine.feedback import feedback
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.run import Run, StageReport, Trial
from taskdata.schema.scores import TrialScore
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials of round `round_ - 1` that need another attempt and have none yet.

    These are trials whose scored leaves together are not above the run's threshold, by agents whose
    harness takes feedback. Leaves without a verdict give no feedback, so they alone are no reason
    for another attempt. A trial lost to infrastructure had no attempt to give feedback on.

    Raises:
        Misuse: if the run has no such refinement round.
    """
    return [trial.id for trial in _due(store, _run(store, run_id, round_), round_)]


def do(store: Store, run_id: str, round_: int) -> StageReport:
    """Plan the unplanned trials of `round_`, and report how many.

    Raises:
        Misuse: if the run has no such refinement round.
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    started = time.monotonic()
    run = _run(store, run_id, round_)
    parents = _due(store, run, round_)
    causes = []
    for parent in parents:
        try:
            store.plan_trials([_refined(store, run, parent)])
        except StoreUnavailable:
            raise
        except Exception as exc:  # one trial must not sink the round
            _logger.exception("trial %s could not be given feedback", parent.id)
            causes.append(cause(exc))
    before = len(store.trials(run_id, round_ - 1))
    planned = len(store.trials(run_id, round_))
    without = f"; {len(causes)} could not be given any: {causes[0]}" if causes else ""
    return StageReport(
        stage="refine",
        run_id=run_id,
        round=round_,
        due=len(parents),
        done=len(parents) - len(causes),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note=f"{planned} of {before} trials are tried again with {run.config.feedback} feedback"
        + without,
    )


def _run(store: Store, run_id: str, round_: int) -> Run:
    run = store.run(run_id)
    rounds = run.config.refinement_rounds
    if not 1 <= round_ <= rounds:
        raise Misuse(f"run {run_id} has no refinement round {round_}: it was set up with {rounds}")
    return run


def _due(store: Store, run: Run, round_: int) -> list[Trial]:
    planned = {trial.id for trial in store.trials(run.id, round_)}
    willing = {a.name for a in run.config.agents if harness_takes_feedback(a.harness)}
    return [
        trial
        for trial in store.trials(run.id, round_ - 1)
        if trial.agent in willing
        and _next_id(trial) not in planned
        and _fell_short(store.score(trial.id), run.config.threshold)
    ]


def _fell_short(score: TrialScore | None, threshold: float) -> bool:
    return score is not None and score.root.score is not None and score.root.score <= threshold


def _next_id(trial: Trial) -> str:
    return Trial.make_id(
        trial.run_id, trial.agent, trial.task_id, trial.repetition, trial.round + 1
    )


def _refined(store: Store, run: Run, parent: Trial) -> Trial:
    arm, task = run.config.feedback, store.task(parent.task_hash)
    signals = signals_of(store, parent, run.config.success)
    return parent.model_copy(
        update={
            "id": _next_id(parent),
            "round": parent.round + 1,
            "parent_trial_id": parent.id,
            "feedback": feedback(arm, task, signals, store.diagnosis(parent.id)),
        }
    )
