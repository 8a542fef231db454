"""Build the MCP servers that a bank's tasks bring as source, and report the result for each."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.banks.found import FoundBank
    from taskdata.schema.pool_server import PoolServer
    from taskdata.store import Store

Read = Callable[[str], bytes]
Say = Callable[[str], None]


def reader_of(store: "Store", bank: "FoundBank") -> Read:
    """Return a function that reads the bytes of a file of the bank by its sha256."""
    from taskdata.banks.found import LoadedBank

    def read(sha256: str) -> bytes:
        if isinstance(bank, LoadedBank):
            return bank.bank.files[sha256].read_bytes()
        return store.artifacts.read_bytes(sha256)

    return read


def install_pool_servers(
    store: "Store",
    settings: "Settings",
    name: str,
    names: Sequence[str] = (),
    hosts: Sequence[str] = (),
    relocks: bool = False,
    say: Say = console.say,
) -> Mapping[str, bool]:
    """Build a bank's servers that are not installed, and write a line for each.

    Returns for each server's name whether it is installed now.

    Args:
        store: The store with the bank.
        settings: The settings of this installation.
        name: The bank, as commands name it.
        names: Only these servers; none: all.
        hosts: Hosts that builds may reach besides the registries.
        relocks: Build with the newest libraries that fit instead of the locked ones.
        say: Writes a line.

    Raises:
        Misuse: the bank has no such server, or the sandbox does not work here.
    """
    from environments.sandbox.providers import sandbox_provider
    from flows.config import run_config
    from taskdata.banks.found import find_bank
    from taskdata.errors import Misuse

    bank = find_bank(store, name)
    servers = _of_bank(bank)
    if unknown := sorted(set(names) - {server.name for server in servers}):
        has = ", ".join(sorted({server.name for server in servers})) or "none"
        raise Misuse(f"the pool of bank {name} brings no MCP server {unknown[0]!r}; it has: {has}")
    wanted = [server for server in servers if not names or server.name in names]
    if not wanted:
        return {}
    provider = sandbox_provider(run_config(settings).sandbox)
    if reason := provider.unavailable():
        raise Misuse(f"MCP servers are built in a {provider.name} sandbox: {reason}")
    read, states = reader_of(store, bank), dict[str, bool]()
    for number, server in enumerate(wanted, start=1):
        with console.doing(f"MCP server {number} of {len(wanted)}, {server.name}") as tell:
            is_there, said = _built(server, read, settings, tell, hosts, relocks)
        say(said)
        states[server.name] = is_there
    say(f"MCP servers of the pool: {sum(states.values())} of {len(states)} are installed")
    return states


def _of_bank(bank: "FoundBank") -> list["PoolServer"]:
    """Return the distinct servers that tasks of the bank bring and that are not refused."""
    found: dict[str, PoolServer] = {}
    for task in bank.tasks():
        for server in task.environment.pool_servers if task.environment else ():
            if not server.refused:
                found.setdefault(server.digest(), server)
    return sorted(found.values(), key=lambda server: server.name)


def _built(
    server: "PoolServer",
    read: Read,
    settings: "Settings",
    tell: Callable[[str], None],
    hosts: Sequence[str],
    relocks: bool,
) -> tuple[bool, str]:
    """Return whether the server is installed now, and a line about it for the user."""
    import asyncio

    from environments.mcp.pool.building import build
    from environments.sandbox.providers import sandbox_provider
    from flows.config import run_config
    from taskdata.errors import ToolUnavailable

    began = time.monotonic()
    if server.source is None:
        return False, f"{server.name}: {server.refused}"
    provider = sandbox_provider(run_config(settings).sandbox)
    try:
        archive = read(server.source.sha256)
        building = build(server, archive, settings.home, provider, tell, hosts, relocks)
        is_new = asyncio.run(building)
    except ToolUnavailable as exc:
        return False, str(exc)
    how = f"built in {time.monotonic() - began:.0f} s" if is_new else "is there already"
    return True, f"{server.name}: {how}"
