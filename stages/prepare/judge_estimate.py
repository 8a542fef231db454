"""What the judge of a run will probably use, and what it can use at most, before it starts."""

from collections.abc import Iterable, Sequence

from environments.models.money.budget import Spending, total
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.execute.harness import harness_kind
from stages.prepare.estimate import NOTHING, Effort, JudgeEstimate, trials_per_task
from stages.prepare.work import can_play
from stages.score.judging.judge import MAX_ASKS, MAX_VIEWS, largest_request
from stages.score.judging.sight import Sight, sight_of
from stages.score.planning.pictures import most_pictures
from stages.score.planning.question import largest_plan_request
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import Judge
from taskdata.schema.effort import CallEffort
from taskdata.schema.panel import JudgeSpec
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store


def estimate_judge(store: Store, config: RunConfig, tasks: Sequence[Task]) -> JudgeEstimate | None:
    """Return what the run's judges would use; None if there is none. Makes no model call."""
    each = [_estimate_one(store, config, judge, tasks) for judge in config.every_judge]
    if len(each) < 2:
        return each[0] if each else None
    return JudgeEstimate(
        judge=config.judge_name or "",
        leaves=each[0].leaves,
        likely=_together([one.likely for one in each]),
        calls_seen=sum(one.calls_seen for one in each),
        at_most=_together([one.at_most for one in each], cap=config.max_usd) or NOTHING,
    )


def _together(efforts: Sequence[Effort | None], cap: float | None = None) -> Effort | None:
    """Return the efforts of all judges, within the cap on their cost; None: one is unknown."""
    known = [effort for effort in efforts if effort is not None]
    if len(known) < len(efforts):
        return None
    within = [usd for usd in (_sum(e.cost_usd for e in known), cap) if usd is not None]
    return Effort(
        model_calls=sum(effort.model_calls for effort in known),
        tokens=_sum(effort.tokens for effort in known),
        cost_usd=min(within, default=None),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; None where one of them is unknown."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


def _estimate_one(
    store: Store, config: RunConfig, seated: JudgeSpec, tasks: Sequence[Task]
) -> JudgeEstimate:
    judge = seated.model
    bounds: list[Spending] = []
    sight = sight_of(judge, seated.base_url, config.judging)
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
    asks = MAX_ASKS * MAX_VIEWS
    # Failed attempts at a call may be charged as well.
    most_usd = None if most.usd is None else asks * RetryPolicy().attempts * most.usd
    costs = [usd for usd in (most_usd, config.max_usd) if usd is not None]
    return JudgeEstimate(
        judge=str(judge),
        leaves=len(bounds),
        likely=_likely(len(bounds), past),
        calls_seen=past.calls,
        at_most=Effort(
            model_calls=asks * most.calls,
            tokens=asks * most.tokens,
            cost_usd=min(costs, default=None),
        ),
    )


def _is_judged(agent: AgentSpec, task: Task) -> bool:
    """Return whether the agent works on the task and leaves more than predictions to score."""
    return can_play(agent, task) and not harness_kind(agent.harness).predicts


def _bounds(task: Task, judge: ModelSpec, sight: Sight) -> list[Spending]:
    """Return the most that one call can use, for each judged leaf of the task."""
    price = price_of(judge)
    requests = [
        largest_request(leaf.requirement, leaf.verifier, sight)
        for leaf in task.checkpoints.leaves()
        if isinstance(leaf.verifier, Judge)
    ]
    if task.planning is not None:
        # One question about the plan, however many leaves have its grade.
        requests.append(largest_plan_request(sight.max_tokens, most_pictures(task, sight)))
    return [call_bound(request, price) for request in requests]


def _likely(leaves: int, past: CallEffort) -> Effort | None:
    if not past.calls:
        return None
    share = leaves / past.calls
    cost_usd = None if past.cost_usd is None else share * past.cost_usd
    return Effort(model_calls=leaves, tokens=share * past.tokens, cost_usd=cost_usd)
