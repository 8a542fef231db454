"""Which providers the programs behind the proxy can reach."""

import asyncio

import pytest

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import metering_proxy
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import Misuse
from taskdata.schema.agent import Budget, ModelSpec


def opened(model: str, url: str) -> str:
    async def listens() -> str:
        endpoint = Endpoint(ModelSpec.parse(model), url, "canary-0123")
        terms = Terms(endpoint, ProgramBudget(Budget(), None), record=None)
        async with metering_proxy(terms) as proxy:
            return proxy.url

    return asyncio.run(listens())


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("bedrock/m", "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ("vertex/m", "https://us-east5-aiplatform.googleapis.com/v1"),
        ("azure/m", "https://name.openai.azure.com?api-version=2024-10-21"),
    ],
)
def test_requests_that_cannot_be_passed_on_are_refused_before_a_program_starts(model, url):
    with pytest.raises(Misuse, match="a program of its own cannot call this provider"):
        opened(model, url)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("azure/m", "https://name.openai.azure.com/openai/v1"),
        ("openrouter/a/b", "https://openrouter.ai/api/v1"),
    ],
)
def test_others_are_reached_through_the_proxy(model, url):
    assert opened(model, url).startswith("http://127.0.0.1:")
