"""The metering proxy through which an agent with a loop of its own calls its model."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Literal

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget, ReplyLimits
from environments.metering.proxy import MeteringProxy, metering_proxy
from environments.models.capabilities import capabilities_of
from environments.models.money.prices import price_of
from environments.models.record.log import CallLog
from environments.models.registry import ModelClients, model_endpoint
from environments.models.retry import RetryPolicy
from environments.reaper.owner import working_folder
from stages.execute.dialogue.journal import Journal
from taskdata.schema.agent import AgentSpec, Budget, ModelSpec

Reach = Literal["sandbox", "loopback"]
"""Where the proxy is called from: inside the sandbox, or this process."""
UNASKED_REPLY_TOKENS = 32_000
"""Reply limit of a program that sets none; high, since its model may be a reasoning model."""
_WINDOWS_SHARE = 4
"""Most servers refuse a request if input and reply limit together exceed the window."""


@asynccontextmanager
async def metered(
    agent: AgentSpec,
    reach: Reach,
    base_url: str | None,
    journal: Journal,
    clients: ModelClients,
    log: CallLog,
) -> AsyncIterator[MeteringProxy | None]:
    """Yield the proxy to the agent's model, which journals its calls; None without a model.

    Args:
        agent: Its model and its budget are used.
        reach: Where the proxy is called from.
        base_url: URL of the model; None for the provider's own.
        journal: The trial's journal.
        clients: The clients of the other agents, with which it shares rate limits and money.
        log: Records the calls that the trial pays for, and replays those paid for before.

    Raises:
        Misuse: the model cannot be used; says what is missing.
        SandboxFailed: the proxy cannot listen.
    """
    if agent.model is None:
        yield None
        return
    terms = _terms(agent, agent.model, reach, base_url, journal, clients, log)
    with ExitStack() as stack:
        folder = stack.enter_context(working_folder()) if reach == "sandbox" else None
        async with metering_proxy(terms, folder) as proxy:
            yield proxy


def _terms(
    agent: AgentSpec,
    model: ModelSpec,
    reach: Reach,
    base_url: str | None,
    journal: Journal,
    clients: ModelClients,
    log: CallLog,
) -> Terms:
    # A local model has neither rate limits nor a price.
    is_local = model.provider == "local"
    return Terms(
        endpoint=model_endpoint(model, base_url),
        budget=ProgramBudget(
            agent.budget,
            price_of(model),
            # A program sets its own reply limit; for an adapter we set it.
            replies=_replies(agent, model) if reach == "sandbox" else None,
        ),
        record=journal,
        limiter=None if is_local else clients.limiter,
        run_budget=clients.run_budget,
        log=None if is_local else log,
        policy=RetryPolicy(attempt_seconds=clients.attempt_seconds),
        # An adapter has recorded its instructions already.
        records_instructions=reach == "sandbox",
    )


def _replies(agent: AgentSpec, model: ModelSpec) -> ReplyLimits:
    usual, said = Budget().max_reply_tokens, agent.budget.max_reply_tokens
    if said != usual or agent.budget.names_reply_limit:
        return ReplyLimits(said, said)
    window = agent.window_tokens or capabilities_of(model).window_tokens or 0
    return ReplyLimits(None, max(usual, min(UNASKED_REPLY_TOKENS, window // _WINDOWS_SHARE)))
