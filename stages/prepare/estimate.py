"""What a run will probably use, and what it can use at most, before it starts.

The probable use is taken from earlier attempts by an agent of the same name, whatever its settings:
on the same tasks if there are any, else on any task. The maximum follows from the agent's budget,
from the window and price of its model, and from the run's cap on money; a run uses more only if a
trial has to be repeated. Models of tools cost money as well, which only a budget or a cap in USD
limits. Replayed calls use nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from pydantic import Field

from environments.mcp.offer import offered
from environments.models.capabilities import capabilities_of
from environments.models.money.prices import Price, price_of
from environments.models.retry import RetryPolicy
from environments.tool_runtime.host_registry import HOST_MODULES, host_definition
from environments.toolkit.services import Service
from stages.execute.cases.asking import ASKED_AT_MOST
from stages.execute.harness import harness_kind, harness_takes_feedback
from stages.execute.planning.planner import most_plan_calls
from stages.prepare.work import can_play, repetitions
from taskdata.schema.agent import AgentSpec
from taskdata.schema.base import Value
from taskdata.schema.effort import PastEffort
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store

_PER = 1_000_000
"""Number of tokens that prices refer to."""


class Effort(Value):
    """What several trials use together."""

    model_calls: float = Field(ge=0)
    """Number of answered calls."""
    tokens: float | None = Field(ge=0)
    """Their input and output tokens; None: the model's longest input is unknown."""
    cost_usd: float | None = None
    """None: a price is unknown, or no known limit applies."""


NOTHING = Effort(model_calls=0, tokens=0, cost_usd=0.0)
"""The effort of agents without a model."""


class AgentEstimate(Value):
    """What one agent's trials would use."""

    agent: str
    trials: int = Field(ge=0)
    """In all arms and refinement rounds, though successful trials are not repeated."""
    likely: Effort | None = None
    """Based on earlier attempts; None: there are none."""
    attempts_seen: int = Field(ge=0)
    """How many earlier attempts it is based on."""
    at_most: Effort
    """Limited by the agent's budget and the run's cap on money."""


class JudgeEstimate(Value):
    """What judging every trial would use."""

    judge: str
    leaves: int = Field(ge=0)
    """Leaves to score, over all trials."""
    likely: Effort | None = None
    """Based on earlier calls of the same judge, one per leaf; None: there are none."""
    calls_seen: int = Field(ge=0)
    """How many earlier calls it is based on."""
    at_most: Effort
    """Limited by the most that a call shows to the judge, and by the number of calls."""


class UserEstimate(Value):
    """What the simulated user would use in all talks together."""

    user: str
    answers: int = Field(ge=0)
    """The most answers that it may give, over all trials."""
    likely: Effort | None = None
    """Estimate from earlier calls of the same model as a user, if each talk is as long as its task
    allows; None without earlier calls."""
    calls_seen: int = Field(ge=0)
    """How many earlier calls it is based on."""
    at_most: Effort
    """Upper bound by the most that a call shows of a talk, and by the number of calls."""


class LabellerEstimate(Value):
    """What labelling every trial as a failed one would use."""

    labeller: str
    trials: int = Field(ge=0)
    """Trials that may fail, over all rounds."""
    likely: Effort | None = None
    """Based on earlier calls of the same labeller, one per trial; None: there are none."""
    calls_seen: int = Field(ge=0)
    """How many earlier calls it is based on."""
    at_most: Effort
    """Limited by the most that a call shows to the labeller, and by the number of calls."""


class CritiqueEstimate(Value):
    """What the models that write feedback would use together."""

    writers: str
    """Names of the models."""
    critiques: int
    """The most attempts that get feedback by a model."""
    likely: Effort | None = None
    """Based on earlier feedback by the same models; None: one of them has written none."""
    calls_seen: int = Field(ge=0)
    """How many earlier calls it is based on."""
    at_most: Effort
    """Limited by the most that is shown of an attempt, and by the number of attempts."""


AnyEstimate = AgentEstimate | JudgeEstimate | UserEstimate | CritiqueEstimate | LabellerEstimate


def estimate(store: Store, config: RunConfig, tasks: Sequence[Task]) -> tuple[AgentEstimate, ...]:
    """Return one estimate per agent of the configuration; makes no model call."""
    return tuple(_of_agent(store, config, agent, tasks) for agent in config.agents)


def _of_agent(
    store: Store, config: RunConfig, agent: AgentSpec, tasks: Sequence[Task]
) -> AgentEstimate:
    played = [task for task in tasks if can_play(agent, task)]
    per_task = trials_per_task(agent, config)
    past = store.past_efforts(agent.name)
    if harness_kind(agent.harness).plans == "only":
        agent = agent.held_to(ASKED_AT_MOST)
    trials, by_tools = len(played) * per_task, _tools_ask_models(agent, config, played)
    expected = likely([task.content_hash for task in played], past, per_task)
    most = at_most(agent, trials, config.max_usd, by_tools=by_tools)
    if config.plays_back or (agent.model is None and not by_tools):
        expected = most = NOTHING
    return AgentEstimate(
        agent=agent.name,
        trials=trials,
        likely=expected,
        attempts_seen=len(past),
        at_most=most,
    )


def _tools_ask_models(agent: AgentSpec, config: RunConfig, tasks: Sequence[Task]) -> bool:
    """Return whether tools offered to the agent may call models, which costs money too."""
    kind = harness_kind(agent.harness)
    if kind.is_program or not (kind.needs_model or kind.needs_reference):
        return False
    configured = {
        Service.VISION: config.tool_model,
        Service.IMAGES: config.image_model,
        Service.VIDEOS: config.video_model,
    }
    behind = {service for service, model in configured.items() if model is not None}
    names = {name for task in tasks for name in offered(task).tools if name in HOST_MODULES}
    return any(host_definition(name).needs in behind for name in names)


def trials_per_task(agent: AgentSpec, config: RunConfig) -> int:
    """Return the most trials of each task that the agent has, over all arms and rounds."""
    return len(repetitions(agent, config)) * (1 + refined_per_trial(agent, config))


def refined_per_trial(agent: AgentSpec, config: RunConfig) -> int:
    """Return the most attempts that follow a first one, over all arms and refinement rounds."""
    if not harness_takes_feedback(agent.harness):
        return 0
    return config.refinement_rounds * len(config.feedback)


def likely(
    task_hashes: Collection[str], past: Sequence[PastEffort], per_task: int
) -> Effort | None:
    """Return what that many trials of each task use if they are like earlier ones; None: unknown.

    A task that was not tried before is assumed to need the mean of the others. The cost is None if
    the cost of an earlier attempt is unknown.
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
        tokens=per_task * sum(effort.tokens or 0 for effort in each),
        cost_usd=per_task * sum(known) if len(known) == len(costs) else None,
    )


def at_most(
    agent: AgentSpec, trials: int, max_usd: float | None = None, *, by_tools: bool = False
) -> Effort:
    """Return the most that these trials can use: calls and tokens of the model, and all money.

    Args:
        agent: Its budget applies to each trial.
        trials: Number of trials, none repeated.
        max_usd: The run's cap; None: there is none.
        by_tools: Whether tools may call models too; only budget and cap limit their cost.
    """
    if agent.model is None:
        return NOTHING.model_copy(update={"cost_usd": max_usd}) if by_tools else NOTHING
    tokens = _most_tokens(agent)
    own = _most_usd(agent, price_of(agent.model), tokens)
    each = _least_known(agent.budget.max_usd, None if by_tools else own)
    return Effort(
        model_calls=trials * (agent.budget.max_turns + most_plan_calls(agent)),
        tokens=None if tokens is None else trials * tokens,
        cost_usd=_least_known(None if each is None else trials * each, max_usd),
    )


def _most_tokens(agent: AgentSpec) -> int | None:
    """Return the most tokens of a trial's answered calls."""
    budget = agent.budget
    if _is_metered(agent) and not agent.plans:
        # The upper bound of a call is reserved before the call.
        return budget.max_tokens
    window = agent.window_tokens
    if window is None and agent.model is not None:
        window = capabilities_of(agent.model).window_tokens
    if window is None:
        return None
    # The last call may start when one token is left.
    call = window + budget.max_reply_tokens
    if _is_metered(agent):
        return budget.max_tokens - 1 + call
    return min(budget.max_tokens - 1 + call, (budget.max_turns + most_plan_calls(agent)) * call)


def _most_usd(agent: AgentSpec, price: Price | None, tokens: int | None) -> float | None:
    """Return the most that a trial's calls cost by their tokens, failed attempts included.

    Each attempt has at most the input of the answered call, and at most its reply limit as output.
    """
    if price is None:
        return None
    rates = (price, *price.tiers)
    read = max(max(each.input, each.cache_write or 0.0) for each in rates)
    write = max(each.output for each in rates)
    if read == write == 0:
        return 0.0
    if tokens is None:
        return None
    calls = agent.budget.max_turns + most_plan_calls(agent)
    replies = calls * agent.budget.max_reply_tokens
    if harness_kind(agent.harness).is_program:
        # The program sets its own reply limit.
        replies = tokens
    answered = tokens * read + min(replies, tokens) * max(0.0, write - read)
    # A program's retry is another call, which its budget counts.
    again = 0 if _is_metered(agent) and not agent.plans else RetryPolicy().attempts - 1
    return (answered + again * (tokens * read + replies * write)) / _PER


def _is_metered(agent: AgentSpec) -> bool:
    return harness_kind(agent.harness).metered is not None


def _least_known(*bounds: float | None) -> float | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _mean(efforts: Sequence[PastEffort]) -> Effort:
    costs = [effort.cost_usd for effort in efforts]
    known = [cost for cost in costs if cost is not None]
    return Effort(
        model_calls=fmean(effort.turns for effort in efforts),
        tokens=fmean(effort.tokens for effort in efforts),
        cost_usd=fmean(known) if len(known) == len(costs) else None,
    )


def totals(
    estimates: Sequence[AgentEstimate],
    judge: JudgeEstimate | None = None,
    max_usd: float | None = None,
    user: UserEstimate | None = None,
    critique: CritiqueEstimate | None = None,
    labeller: LabellerEstimate | None = None,
) -> Mapping[str, float | None]:
    """Return the sums over agents and what stands beside them: trials, likely and greatest cost.

    None stands for an unknown cost.

    With the run's cap on money, `max_usd`, the greatest cost is at most that.
    """
    beside = [one for one in (judge, user, critique, labeller) if one is not None]
    parts: list[AnyEstimate] = [*estimates, *beside]
    return {
        "trials": sum(estimate.trials for estimate in estimates),
        "likely_usd": _sum([e.likely.cost_usd if e.likely else None for e in parts]),
        "at_most_usd": _least_known(_sum([e.at_most.cost_usd for e in parts]), max_usd),
    }


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
