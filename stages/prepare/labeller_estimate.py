"""What the labeller of a run will probably use, and what it can use at most, before it starts."""

from collections.abc import Sequence

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.diagnose.labelling.labeller import MAX_ASKS
from stages.diagnose.labelling.shown import largest_request
from stages.prepare.estimate import NOTHING, Effort, LabellerEstimate, trials_per_task
from stages.prepare.work import can_play
from taskdata.schema.effort import CallEffort
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store


def estimate_labeller(
    store: Store, config: RunConfig, tasks: Sequence[Task]
) -> LabellerEstimate | None:
    """Return what the run's labeller would use if every trial failed; None if there is none.

    No model is called.
    """
    if config.labeller is None:
        return None
    trials = sum(
        trials_per_task(agent, config)
        for agent in config.agents
        for task in tasks
        if can_play(agent, task)
    )
    past = store.past_labelling(config.labeller)
    return LabellerEstimate(
        labeller=str(config.labeller),
        trials=trials,
        likely=NOTHING if config.plays_back else _likely(trials, past),
        calls_seen=past.calls,
        at_most=NOTHING if config.plays_back else _at_most(trials, config),
    )


def _at_most(trials: int, config: RunConfig) -> Effort:
    price = None if config.labeller is None else price_of(config.labeller)
    most, asks = call_bound(largest_request(), price), MAX_ASKS * trials
    # Failed attempts at a call may be charged as well.
    most_usd = None if most.usd is None else asks * RetryPolicy().attempts * most.usd
    costs = [usd for usd in (most_usd, config.max_usd) if usd is not None]
    return Effort(model_calls=asks, tokens=asks * most.tokens, cost_usd=min(costs, default=None))


def _likely(trials: int, past: CallEffort) -> Effort | None:
    if not past.calls:
        return None
    share = trials / past.calls
    cost_usd = None if past.cost_usd is None else share * past.cost_usd
    return Effort(model_calls=trials, tokens=share * past.tokens, cost_usd=cost_usd)
