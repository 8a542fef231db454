"""What a run will probably use, and what it can use at most, before it starts.

What is probable is read from earlier attempts of the same agent: on the same tasks where there
are some, else on any. What is possible follows from the agent's budget alone.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from pydantic import Field

from environments.models.money.prices import Price, price_of
from stages.execute.harness import harness_takes_feedback
from stages.prepare.work import can_play, repetitions
from taskdata.schema.agent import AgentSpec
from taskdata.schema.base import Value
from taskdata.schema.run import PastEffort, RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store

_PER = 1_000_000
"""Prices are per so many tokens."""


class Effort(Value):
    """What trials use together."""

    model_calls: float = Field(ge=0)
    tokens: float = Field(ge=0)
    """Input and output."""
    cost_usd: float | None = None
    """None: a price is unknown."""


class AgentEstimate(Value):
    """What one agent's trials would use."""

    agent: str
    trials: int = Field(ge=0)
    """All refinement rounds included, though trials that succeed are not tried again."""
    likely: Effort | None = None
    """By earlier attempts; None: there are none."""
    attempts_seen: int = Field(ge=0)
    """How many earlier attempts that is based on."""
    at_most: Effort
    """By the agent's budget."""


def estimate(store: Store, config: RunConfig, tasks: Sequence[Task]) -> tuple[AgentEstimate, ...]:
    """Return one estimate per agent of the configuration; nothing is asked of any model."""
    return tuple(_of_agent(store, config, agent, tasks) for agent in config.agents)


def _of_agent(
    store: Store, config: RunConfig, agent: AgentSpec, tasks: Sequence[Task]
) -> AgentEstimate:
    played = [task.content_hash for task in tasks if can_play(agent, task)]
    rounds = 1 + (config.refinement_rounds if harness_takes_feedback(agent.harness) else 0)
    per_task = rounds * len(repetitions(agent, config))
    past = store.past_efforts(agent.name)
    most = at_most(agent, len(played) * per_task)
    return AgentEstimate(
        agent=agent.name,
        trials=len(played) * per_task,
        likely=most if agent.model is None else likely(played, past, per_task),
        attempts_seen=len(past),
        at_most=most,
    )


def likely(
    task_hashes: Collection[str], past: Sequence[PastEffort], per_task: int
) -> Effort | None:
    """Return what so many trials of each task use if they are like the earlier ones; None: unknown.

    A task that was not tried before is taken to need the mean over those that were. Money is None
    where an earlier attempt's was unknown.
    """
    if not past:
        return None
    of_task: dict[str, list[PastEffort]] = defaultdict(list)
    for effort in past:
        of_task[effort.task_hash].append(effort)
    any_task = _mean(past)
    each = [_mean(of_task[key]) if key in of_task else any_task for key in task_hashes]
    costs = [effort.cost_usd for effort in each]
    known = [cost for cost in costs if cost is not None]
    return Effort(
        model_calls=per_task * sum(effort.model_calls for effort in each),
        tokens=per_task * sum(effort.tokens for effort in each),
        cost_usd=per_task * sum(known) if len(known) == len(costs) else None,
    )


def at_most(agent: AgentSpec, trials: int) -> Effort:
    """Return what the agent's budget lets so many trials use, its own model's calls alone."""
    if agent.model is None:
        return Effort(model_calls=0, tokens=0, cost_usd=0.0)
    budget = agent.budget
    # The last call is made while tokens are left, and may then use a whole reply more.
    tokens = budget.max_tokens + budget.max_reply_tokens
    price = price_of(agent.model)
    costs = [budget.max_usd] if budget.max_usd is not None else []
    if price is not None:
        costs.append(tokens * _dearest(price) / _PER)
    return Effort(
        model_calls=trials * budget.max_turns,
        tokens=trials * tokens,
        cost_usd=trials * min(costs) if costs else None,
    )


def _dearest(price: Price) -> float:
    rates = (price, *price.tiers)
    return max(max(each.input, each.output, each.cache_write or 0.0) for each in rates)


def _mean(efforts: Sequence[PastEffort]) -> Effort:
    costs = [effort.cost_usd for effort in efforts]
    known = [cost for cost in costs if cost is not None]
    return Effort(
        model_calls=fmean(effort.turns for effort in efforts),
        tokens=fmean(effort.tokens for effort in efforts),
        cost_usd=fmean(known) if len(known) == len(costs) else None,
    )


def totals(estimates: Sequence[AgentEstimate]) -> Mapping[str, float | None]:
    """Return the sums over agents: trials, likely and greatest cost; None: one is unknown."""
    return {
        "trials": sum(estimate.trials for estimate in estimates),
        "likely_usd": _sum([e.likely.cost_usd if e.likely else None for e in estimates]),
        "at_most_usd": _sum([e.at_most.cost_usd for e in estimates]),
    }


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
