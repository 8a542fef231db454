"""A scripted provider on this machine, and clients that call it through the real SDKs."""

import importlib.util
import sys
from pathlib import Path

import pytest

from environments.models.client import Endpoint, ProviderClient
from environments.models.retry import RetryPolicy
from taskdata.schema.agent import ModelSpec

KEY = "sk-canary-0123456789"
FAST = RetryPolicy(attempts=5, first_wait_seconds=0.01, longest_wait_seconds=0.3)


def _load_wire_server():
    if "wire_server" not in sys.modules:
        path = Path(__file__).parents[2] / "wire_server.py"
        spec = importlib.util.spec_from_file_location("wire_server", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["wire_server"] = module
        spec.loader.exec_module(module)
    return sys.modules["wire_server"]


@pytest.fixture
def wire():
    with _load_wire_server().running_wire_server() as server:
        yield server


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
