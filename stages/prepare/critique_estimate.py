"""What writing feedback will probably use, and what it can use at most, where models write it."""

from collections.abc import Iterator, Mapping, Sequence

from environments.models.money.budget import Spending, total
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.execute.harness import harness_takes_feedback
from stages.prepare.estimate import NOTHING, CritiqueEstimate, Effort
from stages.prepare.work import can_play, repetitions
from stages.refine.critique import largest_request
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.arms import ASKING_ARMS, SELF_ARMS
from taskdata.schema.effort import CallEffort
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store


def estimate_critique(
    store: Store, config: RunConfig, tasks: Sequence[Task]
) -> CritiqueEstimate | None:
    """Return what writing feedback would use; None if no model writes any. No model is called."""
    bounds: dict[ModelSpec, list[Spending]] = {}
    for agent in config.agents:
        if not harness_takes_feedback(agent.harness):
            continue
        played = [task for task in tasks if can_play(agent, task)]
        for model, arm in _writers(agent, config):
            each = [
                call_bound(largest_request(arm, task, agent), price_of(model)) for task in played
            ]
            times = config.refinement_rounds * len(repetitions(agent, config))
            bounds.setdefault(model, []).extend(each * times)
    if not any(bounds.values()):
        return None
    past = {model: store.past_critique(model) for model in bounds}
    most = total([bound for of_model in bounds.values() for bound in of_model])
    # The provider may also charge failed attempts at a call.
    most_usd = None if most.usd is None else RetryPolicy().attempts * most.usd
    within = [usd for usd in (most_usd, config.max_usd) if usd is not None]
    at_most = Effort(model_calls=most.calls, tokens=most.tokens, cost_usd=min(within, default=None))
    return CritiqueEstimate(
        writers=", ".join(sorted(map(str, bounds))),
        critiques=most.calls,
        likely=NOTHING if config.plays_back else _likely(bounds, past),
        calls_seen=sum(effort.calls for effort in past.values()),
        at_most=NOTHING if config.plays_back else at_most,
    )


def _likely(
    bounds: Mapping[ModelSpec, Sequence[Spending]], past: Mapping[ModelSpec, CallEffort]
) -> Effort | None:
    """Return what that many calls of each model use if they are like its earlier ones."""
    if not all(past[model].calls for model in bounds):
        return None
    shares = {model: len(of_model) / past[model].calls for model, of_model in bounds.items()}
    costs = [past[model].cost_usd for model in bounds]
    known = [share * cost for share, cost in zip(shares.values(), costs, strict=True) if cost]
    return Effort(
        model_calls=sum(map(len, bounds.values())),
        tokens=sum(share * past[model].tokens for model, share in shares.items()),
        cost_usd=None if None in costs else sum(known),
    )


def _writers(agent: AgentSpec, config: RunConfig) -> Iterator[tuple[ModelSpec, str]]:
    """Yield who writes the agent's feedback in each arm in which a model does."""
    for arm in config.feedback:
        if arm in ASKING_ARMS:
            model = agent.model if arm in SELF_ARMS else config.critic
            if model is not None:
                yield model, arm
