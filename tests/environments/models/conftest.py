"""A scripted provider on this machine, and clients that call it through the real SDKs."""

import pytest

from environments.models.client import Endpoint, ProviderClient
from environments.models.retry import RetryPolicy
from taskdata.schema.agent import ModelSpec

KEY = "sk-canary-0123456789"
FAST = RetryPolicy(attempts=5, first_wait_seconds=0.01, longest_wait_seconds=0.3)


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def new_client(wire):
    """Make a client of a provider that talks to the scripted server."""

    def make(
        provider: str, model: str = "model-1", policy: RetryPolicy = FAST, url: str | None = None
    ) -> ProviderClient:
        from environments.models.anthropic import AnthropicClient
        from environments.models.openai import OpenAIClient

        kind = AnthropicClient if provider == "anthropic" else OpenAIClient
        dialect = "anthropic" if provider == "anthropic" else "openai"
        base_url = url or wire.base_url(dialect)
        return kind(Endpoint(ModelSpec(provider=provider, model=model), base_url, KEY), policy)

    return make
