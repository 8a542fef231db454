"""A scripted provider on this machine, and clients that call it."""

import asyncio

import pytest

from environments.models.anthropic.messages import AnthropicClient
from environments.models.client import ProviderClient
from environments.models.limits.protocols import Limiter
from environments.models.money.run_budget import RunBudget
from environments.models.openai.chat import OpenAIClient
from environments.models.openai.responses import OpenAIResponsesClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.schema.agent import ModelSpec

CLIENTS = {"anthropic": AnthropicClient, "openai-responses": OpenAIResponsesClient}
HELLO = (Message("system", "Be brief."), Message("user", "Hello?"))
KEY = "sk-canary-0123456789"
FAST = RetryPolicy(attempts=5, first_wait_seconds=0.01, longest_wait_seconds=0.3)


@pytest.fixture(params=["openai", "openai-responses", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def new_client(wire):
    """Make a client of a provider that talks to the scripted server."""

    def make(
        provider: str,
        model: str = "model-1",
        policy: RetryPolicy = FAST,
        url: str | None = None,
        limiter: Limiter | None = None,
        run_budget: RunBudget | None = None,
    ) -> ProviderClient:
        kind = CLIENTS.get(provider, OpenAIClient)
        endpoint = Endpoint(
            ModelSpec(provider=provider, model=model), url or wire.base_url(provider), KEY
        )
        return kind(endpoint, policy, limiter, run_budget)

    return make


@pytest.fixture
def ask():
    """Ask a client once and close it."""

    def run(client: ProviderClient, *messages: Message, **fields) -> ModelReply:
        async def once() -> ModelReply:
            try:
                asked = {"messages": messages or HELLO} | fields
                return await client.reply(ModelRequest(**asked))
            finally:
                await client.close()

        return asyncio.run(once())

    return run
