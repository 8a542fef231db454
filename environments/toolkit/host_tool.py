"""How a host tool is declared, and one call of it.

A host tool runs outside the sandbox, with the services of the trial. A program inside the sandbox
reads its input files from the workspace, and writes its output files there.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from environments.models.faults import ConversationRefused, ConversationTooLong, TooDear
from environments.ports import Generated, ModelReply, ModelRequest, Sandbox
from environments.search.ports import SearchHit
from environments.toolkit.definition import (
    MAX_RESULT_CHARS,
    A,
    Declaration,
    cut_text,
    explain_bad_arguments,
)
from environments.toolkit.kept_results import KeptResults
from environments.toolkit.services import Service, ToolServices
from environments.toolkit.turns import AgentContext
from taskdata.errors import ToolRefused, ToolUnavailable
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec
from taskdata.schema.transcript import Event, Usage

CALL_SECONDS = 900.0
"""Longest call of a host tool, including the timeouts and retries of its service."""

S = TypeVar("S")


def _no_events() -> Sequence[Event]:
    return ()


class TrialMoney(Protocol):
    """The money of a trial, which pays for the model calls of its tools."""

    def hold(self) -> AbstractAsyncContextManager[float | None]:
        """Reserve all money that is left for the length of the block; None: there is no limit."""
        ...

    def charge(self, usd: float | None) -> None:
        """Count the cost of a call, or the most it may have cost; None: the cost is unknown."""
        ...

    def lose(self, usd: float | None) -> None:
        """Count, in the same way, the cost of an attempt that brought no answer."""
        ...


class NoLimit:
    """Money of a trial without a limit."""

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[float | None]:
        """Reserve nothing."""
        yield None

    def charge(self, usd: float | None) -> None:
        """Count nothing."""

    def lose(self, usd: float | None) -> None:
        """Count nothing."""


@dataclass
class HostToolContext:
    """What the host tools of one trial share."""

    services: ToolServices = field(default_factory=ToolServices)
    events: Callable[[], Sequence[Event]] = _no_events
    """What has happened in the trial so far."""
    kept: KeptResults = field(default_factory=KeptResults)
    used: Counter[Service] = field(default_factory=Counter)
    """Number of calls per service."""
    agent: AgentContext | None = None
    """The agent's context; None if the harness does not provide it."""
    money: TrialMoney = field(default_factory=NoLimit)


class HostCall:
    """One call of a host tool: the services that it may use, and their cost."""

    def __init__(self, tool: str, sandbox: Sandbox, context: HostToolContext) -> None:
        self.tool = tool
        self.sandbox = sandbox
        self.context = context
        self.usage = Usage()
        self.cost_usd: float | None = 0.0

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the multimodal model's reply.

        Raises:
            ToolRefused: the model refuses this request, the trial has no calls left, or the call
                may cost more than is left of the trial's money.
            ToolUnavailable: no multimodal model is configured.
            ModelUnavailable: the model cannot be reached.
            ModelRejected: the model refused for a reason that is not the agent's fault.
        """
        vision = self._service(Service.VISION, self.context.services.vision)
        async with self.context.money.hold() as left:
            asked = replace(request, max_usd=left)
            try:
                reply = await vision.reply(asked)
            except TooDear as exc:
                raise ToolRefused(
                    f"{self.tool} was not used: what is left of the trial's money may not suffice."
                ) from exc
            except (ConversationRefused, ConversationTooLong) as exc:
                raise ToolRefused(
                    f"The model behind {self.tool} will not look at this: {exc}"
                ) from exc
            finally:
                for attempt in asked.failed:
                    self.context.money.lose(attempt.cost_at_most_usd)
            if not reply.cached:
                self._book(reply.usage, reply.cost_usd)
        return reply

    async def draw(self, prompt: str) -> Generated:
        """Return a generated picture; raises like `ask`."""
        return await self._made(
            self._service(Service.IMAGES, self.context.services.images).draw(prompt)
        )

    async def film(self, prompt: str) -> Generated:
        """Return a generated video clip; raises like `ask`."""
        return await self._made(
            self._service(Service.VIDEOS, self.context.services.videos).film(prompt)
        )

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return search results; search fees are not part of the cost. Raises like `ask`."""
        return await self._service(Service.SEARCH, self.context.services.search).search(
            query, count
        )

    def _service(self, service: Service, found: S | None) -> S:
        if found is None:
            raise ToolUnavailable(f"{self.tool}: its service ({service}) is not configured")
        limit = self.context.services.limits.of(service)
        if self.context.used[service] >= limit:
            raise ToolRefused(f"{self.tool} is used up: a trial may use {service} {limit} times.")
        self.context.used[service] += 1
        return found

    async def _made(self, making: Awaitable[Generated]) -> Generated:
        try:
            made = await making
        except (ConversationRefused, ConversationTooLong) as exc:
            raise ToolRefused(f"The model behind {self.tool} will not make this: {exc}") from exc
        except asyncio.CancelledError:
            # A request that was cancelled may still be charged.
            self._book(Usage(), None)
            raise
        self._book(made.usage, made.cost_usd)
        return made

    def _book(self, usage: Usage, cost_usd: float | None) -> None:
        self.context.money.charge(cost_usd)
        self.usage += usage
        known = self.cost_usd is not None and cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost_usd or 0.0) if known else None


@dataclass(frozen=True, kw_only=True)
class HostDefinition(Declaration[A]):
    """A host tool."""

    run: Callable[[A, HostCall], Awaitable[ToolResult]]
    """Does the work; raises `ToolRefused` to refuse the agent's request."""
    needs: Service | None = None


@dataclass(frozen=True)
class HostTool:
    """A tool that runs on the host; implements the `Tool` protocol."""

    definition: HostDefinition[Any]
    spec: ToolSpec
    context: HostToolContext = field(default_factory=HostToolContext)

    def at(self, context: HostToolContext) -> "HostTool":
        """Return the tool for the calls of one trial."""
        return replace(self, context=context)

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the result of one call with its cost; mistakes of the agent are error results.

        Raises:
            ToolUnavailable: the service of the tool is not configured or cannot be reached.
            ModelUnavailable: the model of the tool cannot be reached; `ModelRejected` if it
                refused.
            SandboxFailed: the sandbox could not run its part.
        """
        tool = self.definition
        try:
            parsed = tool.arguments.model_validate(arguments)
        except ValidationError as exc:
            text = explain_bad_arguments(tool.name, tool.arguments, arguments, exc)
            return ToolResult(text=text, error=ToolErrorKind.BAD_ARGUMENTS)
        call = HostCall(tool.name, sandbox, self.context)
        try:
            async with asyncio.timeout(CALL_SECONDS) as limit:
                result = await tool.run(parsed, call)
        except ToolRefused as exc:
            result = ToolResult(text=str(exc), error=ToolErrorKind.REFUSED)
        except TimeoutError:
            if not limit.expired():
                raise
            text = f"{tool.name} was given up after {CALL_SECONDS:.0f} s. {tool.paging}"
            result = ToolResult(text=text, error=ToolErrorKind.LIMIT)
        return result.model_copy(
            update={
                "text": cut_text(result.text, tool.paging, MAX_RESULT_CHARS),
                "usage": call.usage,
                "cost_usd": call.cost_usd,
            }
        )
