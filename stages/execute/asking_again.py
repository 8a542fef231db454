"""Calls tools again right after a trial, for checkpoints about what changes with time.

The tools run in a sandbox of their own with an empty workspace. The task's services still run then,
but no program of the agent does.
"""

import asyncio
import json
from datetime import UTC, datetime

from environments.mcp.offer import server_tools
from environments.sandbox.workspace import open_workspace
from environments.tool_runtime.toolbox import RESERVED, Toolbox
from environments.toolkit.host_tool import HostToolContext
from stages.execute.attempt import RunningAttempt, cause
from stages.execute.pool_servers import started_from_pool
from stages.execute.preparing import Prepared
from stages.execute.tool_services import services_for
from taskdata.errors import NightshiftError
from taskdata.schema.asked_again import ToolAnswer, answer_file
from taskdata.schema.checkpoint import AskedAgain
from taskdata.schema.transcript import ToolCall

MOST_CHARS = 100_000
"""The longest answer in characters; a longer one counts as a failure."""
SECONDS = 120.0
"""Longest wait for all answers of a trial."""


async def answers_now(attempt: RunningAttempt, ready: Prepared) -> dict[str, bytes]:
    """Return the answers by file name; empty if the task has no such checkpoints.

    The answer of a tool that failed states the error. It leaves the leaf unscored and has no other
    effect on the trial.
    """
    leaves = ready.task.checkpoints.leaves()
    asked = {leaf.id: leaf.verifier for leaf in leaves if isinstance(leaf.verifier, AskedAgain)}
    if not asked or ready.kind.predicts:
        return {}
    attempt.deadline.step = "calling its tools again"
    found = dict[str, ToolAnswer]()
    try:
        async with asyncio.timeout(SECONDS):
            await _ask(attempt, ready, asked, found)
    except TimeoutError:
        why = f"no answer within {SECONDS:g} s"
    except NightshiftError as exc:
        why = cause(exc)
    else:
        why = ""
    for leaf_id, verifier in asked.items():
        found.setdefault(leaf_id, _answer(verifier, error=why))
    return {answer_file(leaf): one.canonical_json().encode() for leaf, one in found.items()}


async def _ask(
    attempt: RunningAttempt,
    ready: Prepared,
    asked: dict[str, AskedAgain],
    found: dict[str, ToolAnswer],
) -> None:
    shared, offer, limits = attempt.shared, ready.offer, ready.task.resources
    worker = shared.worker
    context = HostToolContext(await services_for(attempt, ready.task), tuple)
    async with open_workspace(worker.folder, {}) as workspace:
        pool = await asyncio.to_thread(
            started_from_pool, ready.task, workspace, worker.store.artifacts, worker.run.config.bank
        )
        async with (
            worker.provider.open(
                workspace, limits, worker.run.id, ready.surroundings.exposed_ports
            ) as sandbox,
            server_tools(
                offer,
                sandbox,
                workspace,
                limits,
                shared.home,
                taken={*offer.tools, *RESERVED},
                pool=pool,
            ) as served,
        ):
            tools = Toolbox(offer.tools, sandbox, context, served)
            for leaf_id, verifier in asked.items():
                found[leaf_id] = await _asked(tools, leaf_id, verifier)


async def _asked(tools: Toolbox, leaf_id: str, verifier: AskedAgain) -> ToolAnswer:
    raw = json.dumps(verifier.arguments, ensure_ascii=False)
    call = ToolCall(id=leaf_id, tool=verifier.tool, arguments=verifier.arguments, raw=raw)
    result = await tools.call(call)
    if result.error is not None:
        return _answer(verifier, error=f"{result.error.value}: {result.text[:500]}")
    if len(result.text) > MOST_CHARS:
        return _answer(verifier, error=f"an answer of more than {MOST_CHARS:,} characters")
    return _answer(verifier, result.text)


def _answer(verifier: AskedAgain, text: str = "", error: str | None = None) -> ToolAnswer:
    return ToolAnswer(
        tool=verifier.tool,
        arguments=verifier.arguments,
        text=text,
        error=error,
        asked_at=datetime.now(UTC),
    )
