"""The refine stage: plan another attempt in every arm at trials that did not succeed.

All arms start from the same first attempt. From then on each continues its own attempts: the second
round of an arm refines what the first round of that arm left.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stages.diagnose.work import signals_of
from stages.execute.attempt import cause
from stages.execute.harness import harness_takes_feedback
from stages.refine.feedback import feedback
from stages.refine.stopping import ROUNDS_WITHOUT_GAIN, fell_short, has_stalled, is_budget_gone
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.arms import ASKING_ARMS, SELF_ARMS, Arm
from taskdata.schema.run import Run, StageReport, Trial
from taskdata.store import Store

_logger = logging.getLogger(__name__)


class _NextAttempt(NamedTuple):
    """An attempt that is to be planned."""

    parent: Trial
    arm: Arm


@dataclass(frozen=True)
class _Plan:
    """What a round has to plan, and why it leaves out the rest."""

    due: Sequence[_NextAttempt]
    stalled: int = 0
    """Attempts of the round before after which an arm stops."""
    unpaid: int = 0
    """Attempts that are not planned because the run's budget is gone."""

    @property
    def note(self) -> str:
        """What is left out, in words."""
        notes = (
            (self.stalled, "stopped after two rounds without gain"),
            (self.unpaid, "not planned because the run's budget (max_usd) is gone"),
        )
        return "".join(f"; {count} {what}" for count, what in notes if count)


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of trials of round `round_ - 1` that need another attempt and lack one.

    These are trials whose scored leaves together are not above the run's threshold, by agents whose
    harness takes feedback; those of arms that have stalled are left out, and all of them when the
    run's budget is gone. Leaves without a verdict give no feedback, so they alone are no reason
    for another attempt. A trial lost to infrastructure had no attempt to give feedback on.

    Raises:
        Misuse: if the run has no such refinement round.
    """
    plan = _planned(store, _run(store, run_id, round_), round_)
    return list(dict.fromkeys(attempt.parent.id for attempt in plan.due))


def do(store: Store, run_id: str, round_: int) -> StageReport:
    """Plan the unplanned trials of `round_` in every arm, and report how many.

    Raises:
        Misuse: if the run has no such refinement round.
        StoreUnavailable: if the store cannot be reached, for all trials at once.
    """
    started = time.monotonic()
    run = _run(store, run_id, round_)
    plan = _planned(store, run, round_)
    causes = []
    for attempt in plan.due:
        try:
            store.plan_trials([_refined(store, run, attempt)])
        except StoreUnavailable:
            raise
        except Exception as exc:  # one trial must not sink the round
            _logger.exception("trial %s could not be given feedback", attempt.parent.id)
            causes.append(cause(exc))
    without = f"; {len(causes)} could not be given any: {causes[0]}" if causes else ""
    return StageReport(
        stage="refine",
        run_id=run_id,
        round=round_,
        due=len(plan.due),
        done=len(plan.due) - len(causes),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note=_counts(store, run, round_) + without + plan.note,
    )


def _counts(store: Store, run: Run, round_: int) -> str:
    """Return how many trials each arm tries again, of how many."""
    before, now = store.trials(run.id, round_ - 1), store.trials(run.id, round_)
    counts = []
    for arm in run.config.feedback:
        tried = sum(trial.arm == arm for trial in now)
        of = sum(trial.arm in ("", arm) for trial in before)
        kind = "without feedback" if arm == "none" else f"with {arm} feedback"
        counts.append(f"{tried} of {of} trials are tried again {kind}")
    return "; ".join(counts)


def _run(store: Store, run_id: str, round_: int) -> Run:
    run = store.run(run_id)
    rounds = run.config.refinement_rounds
    if not 1 <= round_ <= rounds:
        raise Misuse(f"run {run_id} has no refinement round {round_}: it was set up with {rounds}")
    return run


def _planned(store: Store, run: Run, round_: int) -> _Plan:
    """Return what the round has still to plan."""
    by_id = {trial.id: trial for trial in store.trials(run.id)}
    have = {(trial.parent_trial_id, trial.arm) for trial in by_id.values()}
    wanted = [
        attempt
        for attempt in _wanted(run, [t for t in by_id.values() if t.round == round_ - 1])
        if (attempt.parent.id, attempt.arm) not in have
    ]
    short = {
        one
        for one in {attempt.parent.id for attempt in wanted}
        if fell_short(store.score(one), run.config.threshold)
    }
    wanted = [attempt for attempt in wanted if attempt.parent.id in short]
    going_on = [one for one in wanted if not has_stalled(_scores(store, one.parent, by_id))]
    stalled = len(wanted) - len(going_on)
    if not going_on or not is_budget_gone(store, run, round_):
        return _Plan(going_on, stalled)
    free = [one for one in going_on if run.config.agent(one.parent.agent).model is None]
    return _Plan(free, stalled, len(going_on) - len(free))


def _wanted(run: Run, parents: Sequence[Trial]) -> Iterator[_NextAttempt]:
    """Yield every attempt of the next round that the run is set up for."""
    willing = {a.name: a for a in run.config.agents if harness_takes_feedback(a.harness)}
    for parent in parents:
        if (agent := willing.get(parent.agent)) is None:
            continue
        for arm in run.config.feedback:
            can_ask = agent.model is not None or arm not in SELF_ARMS
            if parent.arm in ("", arm) and can_ask:
                yield _NextAttempt(parent, arm)


def _scores(store: Store, last: Trial, by_id: Mapping[str, Trial]) -> list[float]:
    """Return the root scores of an arm's attempts up to `last`, the first attempt first."""
    if last.round < ROUNDS_WITHOUT_GAIN:
        return []
    found = list[float]()
    trial: Trial | None = last
    while trial is not None:
        score = store.score(trial.id)
        if score is not None and score.root.score is not None:
            found.append(score.root.score)
        trial = by_id.get(trial.parent_trial_id or "")
    return found[::-1]


def _refined(store: Store, run: Run, attempt: _NextAttempt) -> Trial:
    parent, arm = attempt
    round_ = parent.round + 1
    return parent.model_copy(
        update={
            "id": Trial.make_id(
                run.id, parent.agent, parent.task_id, parent.repetition, round_, arm
            ),
            "round": round_,
            "arm": arm,
            "parent_trial_id": parent.id,
            "feedback": _text(store, run, attempt),
        }
    )


def _text(store: Store, run: Run, attempt: _NextAttempt) -> str | None:
    """Return the feedback; None without any, and where a model writes it when the trial begins."""
    parent, arm = attempt
    if arm == "none" or arm in ASKING_ARMS:
        return None
    signals = signals_of(store, parent, run.config.success)
    return feedback(arm, store.task(parent.task_hash), signals, store.diagnosis(parent.id))
