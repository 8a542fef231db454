"""Commands of the Model Context Protocol: our tools for others, others' servers for our tasks."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from environments.ports import Workspace

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Transport(StrEnum):
    """How clients reach the server."""

    STDIO = "stdio"
    HTTP = "http"


SandboxOption = Annotated[str, typer.Option(help="Where calls run: bubblewrap or docker.")]


@app.command()
def serve(
    tools: Annotated[
        str, typer.Option(help="Names of tools, with commas between; default: all.")
    ] = "",
    workspace: Annotated[
        Path | None,
        typer.Option(help="Folder with input/ and output/; default: one for this session."),
    ] = None,
    transport: Annotated[
        Transport, typer.Option(help="Standard streams, or HTTP at /mcp.")
    ] = Transport.STDIO,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 4712,
    sandbox: SandboxOption = "bubblewrap",
) -> None:
    """Serve tools of the catalogue over MCP; every call runs in a sandbox."""
    import asyncio

    from environments.mcp.serving import servable_tools
    from environments.reaper.reap import reaped
    from environments.sandbox.providers import sandbox_provider

    served = servable_tools([name.strip() for name in tools.split(",") if name.strip()])
    provider = sandbox_provider(sandbox)
    reason = provider.unavailable()
    if reason:
        raise Misuse(f"sandbox {sandbox}: {reason}")
    if transport is Transport.HTTP and host not in _LOOPBACK:
        console.note(f"Whoever reaches {host}:{port} can call these tools: there is no password.")

    async def session(folder: "Workspace") -> None:
        from environments.mcp.serving import catalogue_server, serve_http, serve_stdio
        from taskdata.schema.task import Resources

        async with provider.open(folder, Resources(), "mcp-serve") as opened:
            server = catalogue_server(served, opened)
            if transport is Transport.STDIO:
                await serve_stdio(server)
            else:
                # Standard output may be the client's.
                console.note(f"Serving {len(served)} tools at http://{host}:{port}/mcp")
                await serve_http(server, host, port)

    with _ended_by_signals(), reaped(), _workspace(workspace) as folder:
        asyncio.run(session(folder))


@app.command()
def install(
    names: Annotated[list[str] | None, typer.Argument(help="Servers; default: all.")] = None,
    bank: Annotated[
        str | None,
        typer.Option(help="Build the servers that this bank's pool brings as source instead."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A host that builds may reach besides the registries; repeatable."),
    ] = None,
    relock: Annotated[
        bool,
        typer.Option(
            "--relock", help="Build with the newest fitting libraries, not the locked ones."
        ),
    ] = False,
    python: Annotated[
        str | None,
        typer.Option(help="Version of the sandbox's Python, such as 3.11; default: ours."),
    ] = None,
) -> None:
    """Install MCP servers of the catalogue, or of a bank's pool, each into a folder of its own."""
    if bank is not None:
        _install_of_bank(bank, names or (), allow_host or (), relock)
        return
    if allow_host or relock:
        raise Misuse("--allow-host and --relock are for the servers of a bank: add --bank NAME")
    from environments.mcp.install import THIS_PYTHON
    from environments.mcp.install import install as install_server
    from environments.mcp.servers import PackagedServer, known_servers, origin, server
    from flows.config import load_settings

    home = load_settings().home
    for name in names or list(known_servers(home)):
        entry = server(name, home)
        if not isinstance(entry, PackagedServer):
            console.say(f"{name}: {origin(entry)}, nothing to install")
            continue
        folder = install_server(entry, home, python or THIS_PYTHON)
        console.say(f"{name}: {origin(entry)} in {folder}")


def _install_of_bank(bank: str, names: Sequence[str], hosts: Sequence[str], relocks: bool) -> None:
    from flows.cli.bank.pool_servers import install_pool_servers
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    if not all(install_pool_servers(store, settings, bank, names, hosts, relocks).values()):
        raise typer.Exit(1)


@app.command("list")
def list_servers(sandbox: SandboxOption = "bubblewrap", as_json: JsonOption = False) -> None:
    """List the MCP servers that tasks can ask for, and whether they work here."""
    from environments.mcp.health import server_states
    from environments.mcp.servers import known_servers, origin
    from flows.config import load_settings

    home = load_settings().home
    states = server_states(home, sandbox)
    rows = [
        {"name": name, "server": origin(entry), "state": states[name]}
        for name, entry in known_servers(home).items()
    ]
    if as_json:
        console.write_json({"servers": rows})
    else:
        console.table(rows, title="MCP servers")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGINT end the block as Ctrl-C does: what was opened is closed."""

    def end(number: int, frame: FrameType | None) -> None:
        # An event loop has a handler of its own, which cancels what runs in it.
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    # A shell starts what is in its background with SIGINT ignored.
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminated = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminated)
        signal.signal(signal.SIGINT, interrupted)


@contextmanager
def _workspace(root: Path | None) -> Iterator["Workspace"]:
    """Yield the workspace at `root`, its two folders made, or one that is removed afterwards."""
    from environments.ports import Workspace
    from environments.reaper.owner import working_folder
    from environments.sandbox.workspace import new_workspace

    with ExitStack() as stack:
        if root is None:
            parent = stack.enter_context(working_folder())
            yield stack.enter_context(new_workspace(parent, {}))
            return
        workspace = Workspace(root.resolve())
        try:
            workspace.input.mkdir(parents=True, exist_ok=True)
            workspace.output.mkdir(exist_ok=True)
        except OSError as exc:
            raise Misuse(f"--workspace {root}: {exc.strerror}") from exc
        yield workspace
