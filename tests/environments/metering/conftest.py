"""A proxy in front of the scripted provider, and programs that call it."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import MeteringProxy, metering_proxy
from environments.models.limits.protocols import Limiter
from environments.models.money.prices import Price
from environments.models.money.run_budget import RunBudget
from environments.models.record.log import CallLog
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import ModelReply
from taskdata.schema.agent import Budget, ModelSpec
from taskdata.schema.tool import ToolSpec
from taskdata.schema.usage import FailedAttempt

KEY = "sk-canary-0123456789"
PRICE = Price(input=10, output=100, cached_input=1)
FAST = RetryPolicy(attempts=3, first_wait_seconds=0.01)


@dataclass
class Recorded:
    """What the record of a trial got."""

    replies: list[ModelReply] = field(default_factory=list)
    unanswered: list[tuple[FailedAttempt, ...]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)

    def model_call(self, reply: ModelReply, started_at: datetime) -> None:
        self.replies.append(reply)

    def no_reply(self, attempts: Sequence[FailedAttempt]) -> None:
        self.unanswered.append(tuple(attempts))

    def message(self, role: str, text: str) -> None:
        self.notices.append(text)

    def offered(self, tools: Sequence[ToolSpec]) -> None:
        self.tools += tools


@dataclass
class Program:
    """What a program can do: call the proxy; and what the trial's record got of it."""

    proxy: MeteringProxy
    session: aiohttp.ClientSession
    recorded: Recorded

    @property
    def replies(self) -> list[ModelReply]:
        return self.recorded.replies

    @property
    def notices(self) -> list[str]:
        return self.recorded.notices

    async def post(
        self, path: str, token: str | None = None, **body: Any
    ) -> tuple[int, dict[str, Any]]:
        headers = {"authorization": f"Bearer {self.proxy.token if token is None else token}"}
        url = self.proxy.url + path
        async with self.session.post(url, json=body, headers=headers) as answered:
            return answered.status, await answered.json()

    async def chat(self, **body: Any) -> tuple[int, dict[str, Any]]:
        """Ask in the OpenAI format."""
        asked = {"model": "model-1", "messages": [{"role": "user", "content": "Hello"}]} | body
        return await self.post("/v1/chat/completions", **asked)

    async def message(self, **body: Any) -> tuple[int, dict[str, Any]]:
        """Ask in the Anthropic format."""
        asked = {
            "model": "model-1",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "Hello"}],
        }
        return await self.post("/v1/messages", **(asked | body))

    async def stream(self, path: str, **body: Any) -> bytes:
        """Return a stream as it came."""
        headers = {"x-api-key": self.proxy.token}
        asked = {"messages": [], "stream": True} | body
        async with self.session.post(self.proxy.url + path, json=asked, headers=headers) as got:
            return await got.read()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines, each in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def record() -> Recorded:
    return Recorded()


@pytest.fixture
def program(wire):
    """Open a proxy to the scripted provider and yield a program of its trial."""

    @asynccontextmanager
    async def opened(
        provider: str = "openai",
        url: str = "",
        price: Price | None = PRICE,
        log: CallLog | None = None,
        run_budget: RunBudget | None = None,
        limiter: Limiter | None = None,
        policy: RetryPolicy = FAST,
        records_instructions: bool = False,
        **budget: Any,
    ) -> AsyncIterator[Program]:
        spec = ModelSpec(provider=provider, model="model-1")
        dialect = "anthropic" if provider == "anthropic" else "openai"
        terms = Terms(
            Endpoint(spec, url or wire.base_url(dialect), KEY),
            ProgramBudget(Budget.model_validate(budget), price),
            Recorded(),
            run_budget=run_budget,
            limiter=limiter,
            log=log,
            policy=policy,
            records_instructions=records_instructions,
        )
        async with metering_proxy(terms) as proxy, aiohttp.ClientSession() as session:
            terms.budget.begin()
            yield Program(proxy, session, terms.record)

    return opened


@pytest.fixture
def streams():
    """Answer with server-sent events; `breaks_off` hangs up after them."""

    def make(*events: dict[str, Any] | str, breaks_off: bool = False):
        async def behave(seen: Any, request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            for event in events:
                data = event if isinstance(event, str) else json.dumps(event)
                kind = f"event: {event['type']}\n" if "type" in event else ""
                await response.write(f"{kind}data: {data}\n\n".encode())
            if breaks_off:
                request.transport.close()
            return response

        return behave

    return make
