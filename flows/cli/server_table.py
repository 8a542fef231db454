"""`nightshift doctor --servers`: each MCP server is started and called once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from flows.cli import console

if TYPE_CHECKING:
    from environments.mcp.health import ServerState
    from environments.mcp.servers import Server
    from flows.config import Settings


def doctor_servers(settings: "Settings", names: Sequence[str], as_json: bool) -> None:
    """Write the state of each server; exit code 1 if an installed server does not work."""
    from environments.mcp.health import READY, examined
    from environments.mcp.servers import known_servers
    from flows.config import run_config

    known = known_servers(settings.home)
    found = examined(settings.home, run_config(settings).sandbox, names)
    if as_json:
        rows = [_facts(known[state.name], state) for state in found.values()]
        console.write_json({"servers": rows})
    else:
        console.table([_row(known[state.name], state) for state in found.values()])
        ready = sum(state.state == READY for state in found.values())
        console.say(f"{ready} of {len(found)} servers ready")
    if any(state.is_installed and state.state != READY for state in found.values()):
        raise typer.Exit(1)


def _facts(entry: "Server", state: "ServerState") -> dict[str, Any]:
    from environments.mcp.servers import needs_of, origin

    facts = state.model_dump(mode="json")
    facts["check"] = facts.pop("state")
    return facts | {"server": origin(entry), "needs": needs_of(entry)}


def _row(entry: "Server", state: "ServerState") -> dict[str, str]:
    from environments.mcp.servers import needs_of, origin

    return {
        "name": state.name,
        "server": origin(entry),
        "installed": "yes" if state.is_installed else "no",
        "tools": str(len(state.tools)) if state.tools else "",
        "needs": needs_of(entry),
        "check": state.state,
    }
