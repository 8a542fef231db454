"""A network for one trial: a proxy to the hosts on its task's list, and the exposed port to it."""

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
"""Of the proxy inside, as squid has it."""

_URL = f"http://127.0.0.1:{PORT}"
_NOT_PROXIED = "localhost,127.0.0.1,::1"
# Programs differ in which case they read; curl reads HTTP_PROXY in lower case only.
_VARIABLES = tuple(
    (name, value)
    for upper, value in (("HTTP_PROXY", _URL), ("HTTPS_PROXY", _URL), ("NO_PROXY", _NOT_PROXIED))
    for name in (upper, upper.lower())
)


@dataclass(frozen=True)
class AllowedNetwork:
    """What a sandbox gets of the network."""

    exposed_ports: tuple[ExposedPort, ...]
    """The proxy's; none where no host is allowed."""
    proxy: Proxy

    def refused(self) -> tuple[RefusedTarget, ...]:
        """Return what programs were kept from until now, a bounded number of targets."""
        return self.proxy.refused()


@asynccontextmanager
async def allowed_network(allow: Sequence[str]) -> AsyncIterator[AllowedNetwork]:
    """Yield the network of one trial; its connections end with the block.

    Programs find it by the usual variables (`HTTPS_PROXY`), and it is all they find: those that do
    not go through a proxy reach nothing. What a TLS connection carries is not looked into, so an
    allowed host that serves for others opens them, too.

    Args:
        allow: Patterns as in `Resources.network`; empty: there is no proxy.

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
        SandboxFailed: it cannot be made.
    """
    with working_folder() as around:
        try:
            # Nobody else can enter the folder around, and a program's own user must enter this.
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
