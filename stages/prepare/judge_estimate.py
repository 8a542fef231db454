"""What the judge of a run will probably use, and what it can use at most, before it starts."""

from collections.abc import Sequence

from environments.models.money.budget import Spending, total
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.execute.harness import harness_kind
from stages.prepare.estimate import NOTHING, Effort, JudgeEstimate, trials_per_task
from stages.prepare.work import can_play
from stages.score.judging.judge import MAX_ASKS, largest_request
from stages.score.judging.sight import Sight, sight_of
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import Judge
from taskdata.schema.run import JudgeEffort, RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store


def estimate_judge(store: Store, config: RunConfig, tasks: Sequence[Task]) -> JudgeEstimate | None:
    """Return what the run's judge would use; None if there is none. Makes no model call."""
    judge = config.judge
    if judge is None:
        return None
    bounds: list[Spending] = []
    sight = sight_of(judge, config.judge_base_url, config.judging)
    for task in tasks:
        scored = (agent for agent in config.agents if _is_judged(agent, task))
        trials = sum(trials_per_task(agent, config) for agent in scored)
        bounds += _bounds(task, judge, sight) * trials
    past, most = store.past_judging(judge), total(bounds)
    if config.plays_back:
        return JudgeEstimate(
            judge=str(judge),
            leaves=len(bounds),
            likely=NOTHING,
            calls_seen=past.calls,
            at_most=NOTHING,
        )
    # Failed attempts at a call may be charged as well.
    most_usd = None if most.usd is None else MAX_ASKS * RetryPolicy().attempts * most.usd
    costs = [usd for usd in (most_usd, config.max_usd) if usd is not None]
    return JudgeEstimate(
        judge=str(judge),
        leaves=len(bounds),
        likely=_likely(len(bounds), past),
        calls_seen=past.calls,
        at_most=Effort(
            model_calls=MAX_ASKS * most.calls,
            tokens=MAX_ASKS * most.tokens,
            cost_usd=min(costs, default=None),
        ),
    )


def _is_judged(agent: AgentSpec, task: Task) -> bool:
    """Return whether the agent works on the task and leaves more than predictions to score."""
    return can_play(agent, task) and not harness_kind(agent.harness).predicts


def _bounds(task: Task, judge: ModelSpec, sight: Sight) -> list[Spending]:
    """Return the most that one call can use, for each judged leaf of the task."""
    price = price_of(judge)
    return [
        call_bound(largest_request(leaf.requirement, leaf.verifier, sight), price)
        for leaf in task.checkpoints.leaves()
        if isinstance(leaf.verifier, Judge)
    ]


def _likely(leaves: int, past: JudgeEffort) -> Effort | None:
    if not past.calls:
        return None
    share = leaves / past.calls
    cost_usd = None if past.cost_usd is None else share * past.cost_usd
    return Effort(model_calls=leaves, tokens=share * past.tokens, cost_usd=cost_usd)
