"""What the simulated user of a run will probably use, and what it can use at most."""

from collections.abc import Iterator, Sequence

from environments.models.money.budget import Spending, total
from environments.models.money.prices import Price, price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.execute.dialogue.simulated_user import (
    MAX_ASKS,
    MOST_SAID_CHARS,
    REPLY_TOKENS,
    Said,
    talk_request,
)
from stages.execute.harness import harness_kind
from stages.prepare.estimate import NOTHING, Effort, UserEstimate, trials_per_task
from taskdata.schema.effort import CallEffort
from taskdata.schema.package import SimulatedUser
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Task
from taskdata.store import Store

_CHARS_PER_TOKEN = 4


def estimate_user(store: Store, config: RunConfig, tasks: Sequence[Task]) -> UserEstimate | None:
    """Return what the run's simulated user would use; None if no trial needs one.

    No model is called.
    """
    talks = [(task, task.simulated_user) for task in tasks]
    talking = [agent for agent in config.agents if harness_kind(agent.harness).talks]
    if config.user is None or not talking or not any(user for _, user in talks):
        return None
    price, trials = price_of(config.user), sum(trials_per_task(a, config) for a in talking)
    bounds = [
        bound
        for task, user in talks
        if user is not None
        for bound in list(_bounds(task.query, user, price)) * trials
    ]
    past, most = store.past_talking(config.user), total(bounds)
    # The provider may also charge failed attempts at a call.
    most_usd = None if most.usd is None else MAX_ASKS * RetryPolicy().attempts * most.usd
    costs = [usd for usd in (most_usd, config.max_usd) if usd is not None]
    at_most = Effort(
        model_calls=MAX_ASKS * most.calls,
        tokens=MAX_ASKS * most.tokens,
        cost_usd=min(costs, default=None),
    )
    return UserEstimate(
        user=str(config.user),
        answers=len(bounds),
        likely=NOTHING if config.plays_back else _likely(len(bounds), past),
        calls_seen=past.calls,
        at_most=NOTHING if config.plays_back else at_most,
    )


def _bounds(query: str, user: SimulatedUser, price: Price | None) -> Iterator[Spending]:
    """Yield for each answer that the user may give the most that the call for it can use."""
    talk = [Said("user", query)]
    said, answer = "abcd " * (MOST_SAID_CHARS // 5), "abcd" * (REPLY_TOKENS * _CHARS_PER_TOKEN // 4)
    for _ in range(user.max_exchanges):
        talk.append(Said("assistant", said))
        yield call_bound(talk_request(user, talk), price)
        talk.append(Said("user", answer))


def _likely(answers: int, past: CallEffort) -> Effort | None:
    if not past.calls:
        return None
    share = answers / past.calls
    cost_usd = None if past.cost_usd is None else share * past.cost_usd
    return Effort(model_calls=answers, tokens=share * past.tokens, cost_usd=cost_usd)
