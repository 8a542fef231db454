"""One trial from end to end: workspace, sandbox, harness, collection, and the outcome to record."""

import asyncio
import logging
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from environments.mcp.offer import offered, server_tools
from environments.models.faults import one_line
from environments.models.prices import price_of
from environments.models.registry import ModelClients
from environments.ports import ModelClient, Sandbox, SandboxProvider, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.workspace import new_workspace
from environments.tools.host.definition import Desk
from environments.tools.host.services import ToolServices
from environments.tools.states import require_ready
from environments.tools.toolbox import ALWAYS_PRESENT, Toolbox
from stages.execute.assignment import Assignment
from stages.execute.dialogue.journal import Journal
from stages.execute.harness import harness_kind
from stages.execute.preprocess import initial_files
from taskdata.errors import Misuse, NightshiftError
from taskdata.schema.agent import AgentSpec
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.run import Deliverable, OutcomeStatus, Run, Trial, TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Event, ModelEvent, ToolEvent, Transcript, Usage
from taskdata.store import Store
from taskdata.version import code_version

_logger = logging.getLogger(__name__)
_CAUSE_CHARS = 500
_DETAIL_CHARS = 20_000


@dataclass(frozen=True)
class Workbench:
    """What the trials of one batch share."""

    store: Store
    run: Run
    provider: SandboxProvider
    clients: ModelClients
    services: ToolServices
    endpoints: Mapping[str, Sequence[str]]
    """Base URLs of running local model servers by model, such as `local/smollm2-135m`."""
    folder: Path
    """Workspaces are made here."""
    home: Path
    """Where MCP servers are installed."""


@dataclass(frozen=True)
class _Work:
    """What came out of an agent's work."""

    transcript: Transcript
    deliverables: tuple[Deliverable, ...]
    rejected: tuple[str, ...]
    prompt_version: str | None
    seconds: float


async def run_trial(bench: Workbench, trial: Trial) -> TrialOutcome:
    """Run one attempt of a trial and return its outcome, whatever happens; it is not recorded yet.

    A failure outside the agent (model server, sandbox, disk, a bug of ours) is an outcome too:
    `INFRASTRUCTURE`, with its cause.
    """
    store, journal = bench.store, Journal()
    started_at, started = datetime.now(UTC), time.monotonic()
    facts: dict[str, Any] = {
        "trial_id": trial.id,
        "attempt": await asyncio.to_thread(store.next_attempt, trial.id),
        "sandbox": bench.run.config.sandbox,
        "code_version": code_version(),
        "started_at": started_at,
    }
    try:
        work = await _work(bench, trial, journal, facts)
        stored = work.transcript.model_dump_json().encode()
        facts |= {
            "status": OutcomeStatus.FINISHED,
            "ending": work.transcript.ending,
            "final_answer": work.transcript.final_answer,
            "transcript_sha256": await asyncio.to_thread(store.artifacts.put_bytes, stored),
            "deliverables": work.deliverables,
            "rejected_files": work.rejected,
            "prompt_version": work.prompt_version,
            "wall_seconds": work.seconds,
        }
    # One trial must not sink its batch, whatever went wrong; the traceback is kept for us.
    except Exception as exc:  # noqa: BLE001
        _logger.warning("trial %s: %s", trial.id, _cause(exc))
        facts |= {
            "status": OutcomeStatus.INFRASTRUCTURE,
            "error": _cause(exc),
            "error_detail": _detail(store, journal, exc),
            "wall_seconds": time.monotonic() - started,
        }
    facts["finished_at"] = datetime.now(UTC)
    return TrialOutcome.model_validate(facts | _totals(journal.events))


async def _work(bench: Workbench, trial: Trial, journal: Journal, facts: dict[str, Any]) -> _Work:
    """Return what came of it; notes in `facts` what is to be recorded of failed trials, too."""
    store = bench.store
    task = await asyncio.to_thread(store.task, trial.task_hash)
    facts["limits"] = SandboxLimits(asked=task.resources)
    config = bench.run.config
    agent = config.agent(trial.agent)
    offer = offered(task)
    require_ready(offer.tools, config, config.sandbox)
    kind = harness_kind(agent.harness)
    harness = kind.build(agent, task)
    model = _model(bench, agent, trial) if kind.needs_model else None
    desk = Desk(bench.services.owned_by(trial.id), lambda: tuple(journal.events))
    with ExitStack() as stack:
        async with initial_files(
            task, store.artifacts, bench.provider, bench.folder, bench.run.id
        ) as files:
            workspace = await asyncio.to_thread(
                stack.enter_context, new_workspace(bench.folder, files)
            )
        async with bench.provider.open(workspace, task.resources, bench.run.id) as sandbox:
            facts |= _held_to(sandbox, task)
            async with server_tools(
                offer,
                sandbox,
                workspace,
                task.resources,
                bench.home,
                taken={*offer.tools, *ALWAYS_PRESENT},
            ) as served:
                started = time.monotonic()
                transcript = await harness.run(
                    Assignment(
                        brief=task.brief(trial.feedback),
                        agent=agent,
                        tools=Toolbox(offer.tools, sandbox, desk, served),
                        model=model,
                        journal=journal,
                    )
                )
                seconds = time.monotonic() - started
        # Only now is nothing of the agent's running any more that could change its files.
        deliverables, rejected = await asyncio.to_thread(_collected, store, workspace, task)
    return _Work(transcript, deliverables, rejected, harness.prompt_version, seconds)


def _held_to(sandbox: Sandbox, task: Task) -> dict[str, Any]:
    held = sandbox.facts()
    return {
        "limits": SandboxLimits(asked=task.resources, enforced=held.enforced),
        "sandbox_image": held.image,
    }


def _model(bench: Workbench, agent: AgentSpec, trial: Trial) -> ModelClient | None:
    if agent.model is None:
        return None
    if agent.budget.max_usd is not None and price_of(agent.model) is None:
        raise Misuse(
            f"agent {agent.name!r}: a budget in USD needs a known price; "
            f"{agent.model} is not in the price table"
        )
    servers = bench.endpoints.get(str(agent.model))
    if not servers:
        return bench.clients.get(agent.model, agent.base_url)
    # By task: the server that has read a task's prompt answers its next round faster.
    chosen = crc32(f"{trial.task_id}/{trial.repetition}".encode()) % len(servers)
    return bench.clients.get(agent.model, servers[chosen])


def _collected(
    store: Store, workspace: Workspace, task: Task
) -> tuple[tuple[Deliverable, ...], tuple[str, ...]]:
    collected = collect(workspace.output, task.resources)
    deliverables = tuple(
        Deliverable(
            name=file.name,
            sha256=store.artifacts.put_file(file.path),
            size_bytes=file.path.stat().st_size,
        )
        for file in collected.files
    )
    return deliverables, collected.rejected


def _totals(events: Sequence[Event]) -> dict[str, Any]:
    """Return the outcome's counts; also of a trial that was cut short, for its calls cost too."""
    models = [event for event in events if isinstance(event, ModelEvent)]
    tools = [event for event in events if isinstance(event, ToolEvent)]
    priced: tuple[ModelEvent | ToolEvent, ...] = (*models, *tools)
    costs = [event.cost_usd for event in priced if event.cost_usd is not None]
    return {
        "usage": sum((event.usage for event in models), Usage()),
        "cost_usd": sum(costs) if len(costs) == len(priced) else None,
        "turns": len(models) or len(tools),
        "tool_calls": len(tools),
        "tool_errors": sum(1 for event in tools if event.error is not None),
        "model_id": models[-1].model if models else None,
    }


def _cause(exc: Exception) -> str:
    """Return what went wrong on one line; a type in front of what we did not raise ourselves."""
    text = one_line(str(exc), limit=_CAUSE_CHARS)
    return text if isinstance(exc, NightshiftError) else f"{type(exc).__name__}: {text}"


def _detail(store: Store, journal: Journal, exc: Exception) -> str:
    """Return the traceback, and where the events up to the failure are kept."""
    detail = "".join(traceback.format_exception(exc))[-_DETAIL_CHARS:]
    if not journal.events:
        return detail
    lines = "\n".join(event.model_dump_json() for event in journal.events)
    try:
        kept = store.artifacts.put_bytes(lines.encode())
    except NightshiftError as error:
        return f"{detail}\nThe events up to here could not be kept: {error}"
    return f"{detail}\nThe events up to here: artifact {kept}"
