"""What environments cost: how soon a trial can act, what a tool call adds, what kills leave behind.

Start: from a trial's being due to an opened sandbox, cold, and warm as in a batch, whose next
container was started while the trials before waited for their models; bubblewrap starts nothing
before a program runs, so there is no difference. With a first program, which shows that it can act.

Calls: a tool of this process; one in the sandbox for which a Python is started (cold), or that has
one that stays (first, then warm); one of an MCP server in the sandbox, spoken to over stdio.

Cleanup: workers are killed at random for some seconds, and what is left of them is counted.

`python benchmarks/environments_cost.py [--trials 8] [--seconds 60]`; 0 seconds: no kills.
"""

import argparse
import asyncio
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.mcp.client.connection import Connection
from environments.ports import Sandbox, SandboxProvider
from environments.reaper.owner import working_folder
from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.sandbox.workspace import new_workspace
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.toolbox import Toolbox
from environments.tools.session.finish import CLAIM_DONE
from taskdata.schema.task import Resources
from taskdata.schema.transcript import ToolCall

FILES = {f"data/table{number}.csv": b"a,b\n1,2\n" * 10_000 for number in range(5)}
CALLS = 10
THINKING_SECONDS = 2.0
"""What an agent waits for its model in a short trial; the machine is idle meanwhile."""
GOALS = {"bubblewrap": 0.15, "docker": 0.5}
"""Seconds from due to a first program's end, warm: half of the trials are to be faster."""

EXPRESSION = {"expression": "6 * 7"}
ECHO_SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    tool = {"name": "echo", "inputSchema": {"type": "object"}}
    start = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    results = {
        "initialize": start | {"serverInfo": {"name": "echo", "version": "1"}},
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "42"}]},
    }
    reply = {"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}
    print(json.dumps(reply), flush=True)
"""


@dataclass
class Starts:
    """Seconds of trials that ran one after another."""

    ready: list[float] = field(default_factory=list)
    acted: list[float] = field(default_factory=list)


async def starts(provider: SandboxProvider, count: int, thinking_seconds: float) -> Starts:
    """Run trials: a workspace, a sandbox over it, a program, and waiting for a model."""
    measured = Starts()
    for _ in range(count):
        due = time.perf_counter()
        with working_folder() as folder, new_workspace(folder, FILES) as workspace:
            async with provider.open(workspace, Resources()) as sandbox:
                measured.ready.append(time.perf_counter() - due)
                await sandbox.run([*sandbox.python(), "-c", "print('hello')"])
                measured.acted.append(time.perf_counter() - due)
                await asyncio.sleep(thinking_seconds)
    return measured


async def warm_starts(provider: SandboxProvider, count: int) -> Starts:
    """Run trials with a pool that has had time to fill."""
    async with provider.pooled("benchmark", at_once=1, expected=count):
        await asyncio.sleep(THINKING_SECONDS)
        return await starts(provider, count, THINKING_SECONDS)


async def calls(provider: SandboxProvider) -> dict[str, list[float]]:
    """Return the seconds of calls in one sandbox, by their kind."""
    with working_folder() as folder, new_workspace(folder, FILES) as workspace:
        async with provider.open(workspace, Resources()) as sandbox:
            toolbox = Toolbox(["Calculator", CLAIM_DONE], sandbox)
            alone = catalogue()["Calculator"]

            async def call(tool: str, arguments: dict[str, Any]) -> None:
                result = await toolbox.call(ToolCall(id="1", tool=tool, arguments=arguments))
                if result.error:
                    raise RuntimeError(result.text)

            in_process = await _timed(lambda: call(CLAIM_DONE, {"answer": "42"}))
            cold = await _timed(lambda: alone.run(EXPRESSION, sandbox))
            staying = await _timed(lambda: call("Calculator", EXPRESSION))
            started = 2 if sandbox.facts().image else 1
            return {
                "in process": in_process,
                "sandbox cold": cold,
                "sandbox first": staying[:started],
                "sandbox warm": staying[started:],
                "MCP stdio": await _served(sandbox),
            }


async def _served(sandbox: Sandbox) -> list[float]:
    argv = [*sandbox.python(), "-c", ECHO_SERVER]
    connection = await Connection.over_process("echo", lambda: sandbox.start(argv))
    try:
        return await _timed(lambda: connection.call("echo", {}, 30.0))
    finally:
        await connection.close()


async def _timed(call: Callable[[], Awaitable[Any]]) -> list[float]:
    seconds = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - began)
    return seconds


def clean_up(names: Sequence[str], seconds: float) -> str:
    """Return in a line what is left after workers were killed for so long."""
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.environments.reaper.load import killed_at_random

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        mark, seed = f"load-{secrets.token_hex(6)}", secrets.randbelow(1 << 32)
        killed = killed_at_random(names, seconds, Path(folder), mark, seed)
        tempfile.tempdir = None
        del os.environ["TMPDIR"]
    left = ", ".join(f"{len(found)} {kind}" for kind, found in killed.left.items())
    return (
        f"{killed.kills} workers killed in {seconds:g} s, {killed.rounds} rounds done; left: {left}"
    )


def show(label: str, seconds: Sequence[float], goal_seconds: float | None = None) -> None:
    """Print the 50th and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    middle = statistics.median(ordered)
    high = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    goal = ""
    if goal_seconds is not None:
        verdict = "met" if middle < goal_seconds else "MISSED"
        goal = f"  goal p50 < {goal_seconds * 1000:.0f} ms: {verdict}"
    print(f"  {label:34} p50 {middle * 1000:8.1f} ms  p95 {high * 1000:8.1f} ms{goal}")


def main() -> None:
    """Print the figures of every provider that works here."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0, help="of killing workers")
    asked = parser.parse_args()
    usable = []
    for name in PROVIDERS:
        provider = sandbox_provider(name)
        reason = provider.unavailable()
        print(f"{name}{f': {reason}' if reason else ''}")
        if reason:
            continue
        usable.append(name)
        cold = asyncio.run(starts(provider, asked.trials, 0.0))
        warm = asyncio.run(warm_starts(provider, asked.trials))
        show("due to ready, cold", cold.ready)
        show("due to ready, warm", warm.ready)
        show("due to first program done, cold", cold.acted)
        show("due to first program done, warm", warm.acted, GOALS.get(name))
        for kind, seconds in asyncio.run(calls(provider)).items():
            show(f"tool call, {kind}", seconds)
    if asked.seconds and usable:
        print(f"cleanup\n  {clean_up(usable, asked.seconds)}")


if __name__ == "__main__":
    main()
