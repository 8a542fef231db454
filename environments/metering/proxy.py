"""The metering proxy of one trial: forwards model calls, counts them and enforces the budget.

The program gets a token that only this proxy accepts; the real key stays in this process. Whatever
model the program names, the agent's model answers. Answers and streams are passed on unchanged,
except that the real key is removed from them.
"""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from environments.metering.accounting import CallAccounting
from environments.metering.calls import Terms
from environments.metering.formats.dialects import (
    Dialect,
    dialects_of,
    error_body,
    family_of,
    model_entry,
    model_list,
    require_forwardable,
    variables,
)
from environments.metering.formats.requests import Asked, read_request
from environments.metering.forwarding import Forwarder
from environments.metering.notices import Notices
from environments.ports import ExposedPort
from environments.sandbox.exposed.listening import listening_socket
from taskdata.errors import ModelRejected, SandboxFailed
from taskdata.schema.transcript import Ending

if TYPE_CHECKING:
    from aiohttp import web

PORT = 8411
"""Port at which sandboxed programs find the proxy on their own loopback."""
MAX_REQUEST_BYTES = 16 * 1024 * 1024
CALLS_AT_ONCE = 8
_TOKEN_BYTES = 24

Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]


class MeteringProxy:
    """Access to the agent's model for a harness or a sandbox."""

    def __init__(self, terms: Terms, forwarder: Forwarder, accounting: CallAccounting) -> None:
        self.endpoint = terms.endpoint
        self.budget = terms.budget
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.url = ""
        """URL of the proxy on our own loopback, without `/v1`; empty if it does not listen
        there."""
        self.exposed_ports: tuple[ExposedPort, ...] = ()
        """The exposed port that a sandbox reaches it by; empty if it has no Unix socket."""
        self._forwarder = forwarder
        self._accounting = accounting

    @property
    def ending(self) -> Ending | None:
        """The budget limit for which a call was refused; None: no call was refused."""
        return self.budget.ending

    async def settled(self) -> None:
        """Return once no call is in flight; to be called after the program has ended."""
        await self._forwarder.settled()

    def require_provider(self) -> None:
        """Check that the program's last call did not fail for a reason outside the program.

        Raises:
            ModelUnavailable: the provider failed, so the result is not the program's fault.
            ModelRejected: the provider refused the call because of our configuration; no retry
                helps.
            BudgetExhausted: the run's money was used up.
            StoreUnavailable: an answer that was paid for could not be stored.
        """
        if (error := self._accounting.error()) is not None:
            raise error


class _Server:
    """The HTTP server of the proxy."""

    def __init__(self, proxy: MeteringProxy, forwarder: Forwarder, notices: Notices) -> None:
        self._proxy = proxy
        self._forwarder = forwarder
        self._notices = notices
        self._family = family_of(proxy.endpoint)
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)

    def application(self) -> "web.Application":
        from aiohttp import web

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app = web.Application(client_max_size=MAX_REQUEST_BYTES, middlewares=[guarded])
        for dialect in dialects_of(self._proxy.endpoint):
            app.router.add_post(dialect.path, self._calls(dialect))
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/models/{model:.+}", self._model)
        return app

    async def _guarded(self, request: "web.Request", handler: Handler) -> "web.StreamResponse":
        from aiohttp import web

        if not self._is_ours(request):
            return self._error(401, "authentication_error", "the key is not this trial's")
        try:
            return await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return self._error(
                413, "request_too_large", f"a request has at most {MAX_REQUEST_BYTES} bytes"
            )
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            offered = ", ".join(d.path for d in dialects_of(self._proxy.endpoint))
            return self._error(
                404,
                "not_found_error",
                f"this evaluation offers {offered} and /v1/models",
            )

    def _is_ours(self, request: "web.Request") -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = request.headers.get("x-api-key") or bearer
        return secrets.compare_digest(
            given.encode("utf-8", "surrogateescape"), self._proxy.token.encode()
        )

    def _error(self, status: int, kind: str, message: str) -> "web.Response":
        from aiohttp import web

        # SDKs would retry after a 429, but the answer would be the same.
        return web.json_response(
            error_body(self._family, kind, message),
            status=status,
            headers={"x-should-retry": "false"},
        )

    async def _models(self, request: "web.Request") -> "web.StreamResponse":
        from aiohttp import web

        return web.json_response(model_list(self._proxy.endpoint))

    async def _model(self, request: "web.Request") -> "web.StreamResponse":
        from aiohttp import web

        return web.json_response(model_entry(self._proxy.endpoint))

    def _calls(self, dialect: Dialect) -> Handler:
        async def call(request: "web.Request") -> "web.StreamResponse":
            async with self._slots:
                return await self._call(dialect, request)

        return call

    async def _call(self, dialect: Dialect, request: "web.Request") -> "web.StreamResponse":
        model = self._proxy.endpoint.spec.model
        try:
            asked = read_request(dialect, await request.read(), model)
        except ModelRejected as exc:
            self._notices.once(f"A call was not made: {exc}.")
            return self._error(400, "invalid_request_error", str(exc))
        if asked.model != model:
            self._notices.once(f"The program asked for model {asked.model!r}; {model} answers.")
        return await self._forwarded(dialect, request, asked)

    async def _forwarded(
        self, dialect: Dialect, request: "web.Request", asked: Asked
    ) -> "web.StreamResponse":
        reservation = await self._proxy.budget.reserve(
            asked.input_tokens, asked.reply_tokens, asked.shortest_reply
        )
        if isinstance(reservation, Ending):
            said = f"the trial's budget is spent: {reservation.replace('_', ' ')}"
            self._notices.once(f"A call was not made: {said}.")
            if self._family == "anthropic":
                return self._error(402, "billing_error", said)
            return self._error(429, "insufficient_quota", said)
        for notice in asked.notices:
            self._notices.once(notice)
        self._notices.reply_limit(asked, reservation.reply_tokens)
        self._notices.told(dialect, asked.body)
        return await self._forwarder.forward(dialect, request, asked, reservation)


@asynccontextmanager
async def metering_proxy(terms: Terms, folder: Path | None = None) -> AsyncIterator[MeteringProxy]:
    """Yield a listening proxy; when the block ends, no call of its trial is in flight.

    Args:
        terms: What the trial's calls share.
        folder: A private folder, in which the proxy's socket is made. None: the proxy listens on
            a port of our own loopback instead.

    Raises:
        Misuse: requests cannot be forwarded unchanged to this provider.
        SandboxFailed: the proxy cannot listen.
    """
    from aiohttp import web

    require_forwardable(terms.endpoint)
    accounting = CallAccounting(terms)
    async with Forwarder.opened(terms, accounting) as forwarder:
        proxy = MeteringProxy(terms, forwarder, accounting)
        server = _Server(proxy, forwarder, Notices(terms))
        runner = web.AppRunner(
            server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            try:
                await _listen(proxy, runner, folder)
            except OSError as exc:
                raise SandboxFailed(f"the metering proxy cannot listen: {exc}") from exc
            yield proxy
        finally:
            await runner.cleanup()


async def _listen(proxy: MeteringProxy, runner: "web.AppRunner", folder: Path | None) -> None:
    from aiohttp import web

    if folder is None:
        bound = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, bound).start()
        proxy.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        return
    # Programs' users may enter the folder of the socket; `folder` keeps other users out.
    path = folder / "model" / "proxy.sock"
    path.parent.mkdir()
    path.parent.chmod(0o755)
    await web.SockSite(runner, listening_socket(path)).start()
    told = variables(proxy.endpoint, f"http://127.0.0.1:{PORT}", proxy.token)
    proxy.exposed_ports = (ExposedPort(PORT, path, told),)
