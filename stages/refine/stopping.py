"""When refinement stops before its last round.

An arm stops at a trial that passed, and where its last two rounds brought no gain; all of them stop
when the run's budget in USD is gone.
"""

from collections.abc import Sequence

from environments.models.money.run_budget import MONEY_USED_UP
from environments.models.money.shared_budget import spent_usd
from taskdata.schema.run import Run
from taskdata.schema.scores import TrialScore
from taskdata.store import Store

ROUNDS_WITHOUT_GAIN = 2
"""After so many rounds in a row that no attempt improved on, an arm stops."""


def fell_short(score: TrialScore | None, threshold: float) -> bool:
    """Return whether an attempt did not pass; one without a score gives no reason to go on.

    A plan passes if it is correct, whatever its grade.
    """
    if score is not None and score.root.planning is not None:
        return score.root.planning.correct is False
    return score is not None and score.root.score is not None and score.root.score <= threshold


def has_stalled(scores: Sequence[float]) -> bool:
    """Return whether the last two rounds of an arm brought no gain.

    Args:
        scores: Root scores of its attempts, the first attempt first.
    """
    before, last = scores[:-ROUNDS_WITHOUT_GAIN], scores[-ROUNDS_WITHOUT_GAIN:]
    return bool(before) and max(last) <= max(before)


def is_budget_gone(store: Store, run: Run, round_: int) -> bool:
    """Return whether the run's `max_usd` leaves nothing for attempts of the round."""
    if run.config.max_usd is None:
        return False
    if spent_usd(store, run) >= run.config.max_usd:
        return True
    failures = store.failures(run.id, round_ - 1)
    lost = store.trials_due_for_execution(run.id, round_ - 1)
    return any(MONEY_USED_UP in failures.get(trial.id, "") for trial in lost)
