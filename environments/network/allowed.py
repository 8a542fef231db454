"""Network access of one trial: a proxy to the hosts on the task's list, and its exposed port."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from environments.network.policy import HostResolver, Policy
from environments.network.proxy import Proxy
from environments.ports import ExposedPort
from environments.reaper.owner import working_folder
from environments.sandbox.exposed.listening import listening_socket
from taskdata.errors import SandboxFailed
from taskdata.schema.network import RefusedTarget

PORT = 3128
"""Port of the proxy inside the sandbox, the one that squid uses."""

_URL = f"http://127.0.0.1:{PORT}"
_NOT_PROXIED = "localhost,127.0.0.1,::1"
# Programs differ in which spelling they read; curl reads `http_proxy` in lower case only.
_VARIABLES = tuple(
    (name, value)
    for upper, value in (("HTTP_PROXY", _URL), ("HTTPS_PROXY", _URL), ("NO_PROXY", _NOT_PROXIED))
    for name in (upper, upper.lower())
)


@dataclass(frozen=True)
class AllowedNetwork:
    """What a sandbox needs to reach the network."""

    exposed_ports: tuple[ExposedPort, ...]
    """The exposed port of the proxy; empty where no host is allowed."""
    proxy: Proxy

    def refused(self) -> tuple[RefusedTarget, ...]:
        """Return the targets that programs were refused so far, at most a bounded number."""
        return self.proxy.refused()


@asynccontextmanager
async def allowed_network(allow: Sequence[str]) -> AsyncIterator[AllowedNetwork]:
    """Yield the network of one trial; its connections are closed when the block ends.

    Programs find the proxy by the usual variables (`HTTPS_PROXY`) and can reach nothing else: a
    program that does not use a proxy has no network. The content of a TLS connection is not
    inspected, so an allowed host that serves several domains makes all of them reachable.

    Args:
        allow: Patterns as in `Resources.network`; without patterns there is no proxy.

    Raises:
        SandboxFailed: the proxy's socket cannot be made.
    """
    with closing(HostResolver()) as resolver:
        proxy = Proxy(Policy(allow, resolver))
        if not allow:
            yield AllowedNetwork((), proxy)
            return
        async with serving(proxy) as socket:
            yield AllowedNetwork((ExposedPort(PORT, socket, _VARIABLES, tuple(allow)),), proxy)


@asynccontextmanager
async def serving(proxy: Proxy) -> AsyncIterator[Path]:
    """Yield a Unix socket, alone in its folder, on which `proxy` serves within the block.

    Raises:
        SandboxFailed: the socket cannot be made.
    """
    with working_folder() as around:
        try:
            # No other user can enter the parent folder; the sandboxed user must be able to enter
            # this one.
            socket = around / "exposed" / "s"
            socket.parent.mkdir()
            socket.parent.chmod(0o755)
            bound = listening_socket(socket)
            server = await asyncio.start_unix_server(proxy.accept, sock=bound)
        except OSError as error:
            raise SandboxFailed(f"cannot listen on {around}: {error.strerror or error}") from error
        try:
            yield socket
        finally:
            server.close()
            await proxy.close()
            await server.wait_closed()
