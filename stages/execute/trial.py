"""One trial from end to end: workspace, sandbox, harness, collection, and the outcome to record."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from zlib import crc32

from environments.mcp.offer import Offer, offered, server_tools
from environments.metering.proxy import MeteringProxy
from environments.models.money.prices import UNPRICED, price_of
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.retry import is_silence
from environments.ports import ModelClient, Sandbox, Workspace
from environments.sandbox.collect import Collected, collect
from environments.sandbox.workspace import new_workspace
from environments.tools.host.definition import HostToolContext
from environments.tools.states import require_ready
from environments.tools.toolbox import RESERVED, Toolbox
from stages.execute.assignment import Assignment
from stages.execute.command import provider_for
from stages.execute.dialogue.journal import Journal
from stages.execute.harness import HarnessKind, harness_kind
from stages.execute.imported.taking import taken_in
from stages.execute.metered import metered
from stages.execute.outcome import cause, detail_of, failed_outcome, outcome_of, totals
from stages.execute.preprocess import initial_files
from stages.execute.slots.deadline import Deadline, in_time
from stages.execute.storing import Stored, stored
from stages.execute.surroundings import Surroundings, surroundings, with_final_state, without_state
from stages.execute.worker_context import Due, WorkerContext
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending, Transcript
from taskdata.version import code_version

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Work:
    """What came out of an agent's work."""

    transcript: Transcript
    stored: Stored
    prompt_version: str | None
    seconds: float | None
    effort: dict[str, Any] = field(default_factory=dict)
    """Fields of the outcome that no event of ours says."""


async def run_trial(worker: WorkerContext, due: Due) -> TrialOutcome:
    """Make one attempt at a trial and return its outcome, whatever happens; it is not recorded yet.

    A failure outside the agent (model server, sandbox, disk, a bug of ours, something that hangs)
    is an outcome too: `INFRASTRUCTURE`, with its cause.
    """
    journal, started = Journal(partial(worker.holder.answered, due.trial.id)), time.monotonic()
    deadline = Deadline(worker.run.config.deadlines, worker.ends_at)
    facts: dict[str, Any] = {
        "trial_id": due.trial.id,
        "attempt": due.attempt,
        "sandbox": worker.run.config.sandbox,
        "code_version": code_version(),
        "started_at": datetime.now(UTC),
    }
    try:
        done = await in_time(_done(worker, due, journal, facts, deadline), deadline)
        return outcome_of(facts | done)
    # One trial must not sink its batch, whatever went wrong; the traceback is kept for us.
    except Exception as exc:  # noqa: BLE001
        if is_silence(exc):
            worker.holder.unanswered(due.trial.id)
        _logger.warning("trial %s: %s", due.trial.id, cause(exc))
        facts |= {
            "status": OutcomeStatus.INFRASTRUCTURE,
            "error": cause(exc),
            "error_detail": await asyncio.to_thread(detail_of, worker.store, journal, exc),
            "wall_seconds": time.monotonic() - started,
        }
    return failed_outcome(facts, journal)


async def _done(
    worker: WorkerContext, due: Due, journal: Journal, facts: dict[str, Any], deadline: Deadline
) -> dict[str, Any]:
    """Do the work and return what the outcome says of it."""
    work = await _work(worker, due, journal, facts, deadline)
    return {
        "status": OutcomeStatus.FINISHED,
        "ending": work.transcript.ending,
        "final_answer": work.transcript.final_answer,
        "transcript_sha256": work.stored.transcript_sha256,
        "deliverables": work.stored.deliverables,
        "rejected_files": work.stored.rejected,
        "prompt_version": work.prompt_version,
        "wall_seconds": work.seconds,
        **totals(journal),
        **work.effort,
    }


@dataclass(frozen=True)
class _Try:
    """What the steps of one attempt share."""

    worker: WorkerContext
    due: Due
    task: Task
    around: Surroundings
    journal: Journal
    facts: dict[str, Any]
    """What is to be recorded of failed trials, too."""
    deadline: Deadline


async def _work(
    worker: WorkerContext, due: Due, journal: Journal, facts: dict[str, Any], deadline: Deadline
) -> _Work:
    """Return what came of it; notes in `facts` what is to be recorded of failed trials, too."""
    deadline.set_up("reading its task")
    task = await worker.task(due.trial.task_hash)
    facts["limits"] = SandboxLimits(asked=task.resources)
    config = worker.run.config
    agent = config.agent(due.trial.agent)
    kind = harness_kind(agent.harness)
    if kind.build is None:
        facts |= {"sandbox": "none"}
        deadline.step = "taking in its results"
        return await asyncio.to_thread(_imported, worker, agent, task, journal)
    offer = offered(task)
    require_ready(offer.tools, config, config.sandbox)
    harness = kind.build(agent, task)
    model = None if kind.metered else _model(worker, agent, due)
    deadline.step = "starting its services"
    async with AsyncExitStack() as stack, surroundings(task, worker.room) as around:
        attempt = _Try(worker, due, task, around, journal, facts, deadline)
        try:
            deadline.step = "making its workspace"
            workspace = await _begun(attempt, stack)
            deadline.step = "opening its sandbox"
            async with (
                _way_to_model(attempt, agent, kind) as proxy,
                _sandbox(attempt, agent, kind, workspace, proxy) as sandbox,
                _toolbox(attempt, offer, workspace, sandbox) as toolbox,
            ):
                started = time.monotonic()
                assignment = _assigned(attempt, agent, workspace, toolbox, sandbox, model, proxy)
                deadline.work(agent)
                try:
                    transcript = await harness.run(assignment)
                finally:
                    deadline.collect("closing its sandbox")
                seconds = time.monotonic() - started
                if not kind.is_program:
                    transcript = transcript.model_copy(update={"tools": toolbox.specs})
            kept = await _left(attempt, kind, workspace, transcript)
            deadline.step = "ending its services and removing its workspace"
        finally:
            facts["limits"] = around.noted_in(facts["limits"])
    return _Work(transcript, kept, harness.prompt_version, seconds)


def _assigned(
    attempt: _Try,
    agent: AgentSpec,
    workspace: Workspace,
    tools: Toolbox,
    sandbox: Sandbox,
    model: ModelClient | None,
    proxy: MeteringProxy | None,
) -> Assignment:
    return Assignment(
        brief=attempt.task.brief(attempt.due.trial.feedback),
        agent=agent,
        tools=tools,
        model=model,
        journal=attempt.journal,
        input_folder=workspace.input,
        sandbox=sandbox,
        proxy=proxy,
    )


async def _begun(attempt: _Try, stack: AsyncExitStack) -> Workspace:
    """Return a workspace in the state that the task starts from; it goes with the stack."""
    worker, exposed_ports = attempt.worker, attempt.around.exposed_ports
    async with initial_files(
        attempt.task,
        worker.store.artifacts,
        worker.provider,
        worker.folder,
        worker.run.id,
        exposed_ports,
    ) as read:
        # Making and removing it waits for the disk; the other trials must not wait for that.
        made = ExitStack()
        stack.push_async_callback(asyncio.to_thread, made.close)
        return await asyncio.to_thread(
            lambda: made.enter_context(new_workspace(worker.folder, read()))
        )


@asynccontextmanager
async def _way_to_model(
    attempt: _Try, agent: AgentSpec, kind: HarnessKind
) -> AsyncIterator[MeteringProxy | None]:
    """Yield the proxy of an agent that calls its model by itself, None for all others."""
    if kind.metered is None:
        yield None
        return
    worker, due = attempt.worker, attempt.due
    log = due.log(worker.calls)
    base_url, clients = _base_url(worker, agent, due.trial), worker.clients
    async with metered(agent, kind.metered, base_url, attempt.journal, clients, log) as proxy:
        yield proxy


@asynccontextmanager
async def _sandbox(
    attempt: _Try,
    agent: AgentSpec,
    kind: HarnessKind,
    workspace: Workspace,
    proxy: MeteringProxy | None,
) -> AsyncIterator[Sandbox]:
    """Yield the agent's sandbox; notes what it really is."""
    worker, facts = attempt.worker, attempt.facts
    asked = attempt.task.resources
    resources = asked if kind.resources is None else kind.resources(agent, asked)
    exposed_ports = (*attempt.around.exposed_ports, *(proxy.exposed_ports if proxy else ()))
    provider = provider_for(agent, worker.provider)
    async with provider.open(workspace, resources, worker.run.id, exposed_ports) as sandbox:
        held = sandbox.facts()
        facts["limits"] = facts["limits"].model_copy(update={"enforced": held.enforced})
        facts["sandbox_image"] = held.image
        yield sandbox


@asynccontextmanager
async def _toolbox(
    attempt: _Try, offer: Offer, workspace: Workspace, sandbox: Sandbox
) -> AsyncIterator[Toolbox]:
    """Yield the agent's tools over its sandbox."""
    worker = attempt.worker
    attempt.deadline.step = "starting its MCP servers"
    services = worker.services.owned_by(attempt.due.payer)
    context = HostToolContext(services, lambda: tuple(attempt.journal.events))
    async with server_tools(
        offer,
        sandbox,
        workspace,
        attempt.task.resources,
        worker.home,
        taken={*offer.tools, *RESERVED},
    ) as served:
        yield Toolbox(offer.tools, sandbox, context, served)


async def _left(
    attempt: _Try, kind: HarnessKind, workspace: Workspace, transcript: Transcript
) -> Stored:
    """Store what was left, once nothing of the agent's is running that could change it."""
    task, deadline = attempt.task, attempt.deadline
    store = partial(stored, attempt.worker.store, transcript)
    deadline.step = "collecting and storing what the agent left"
    if kind.predicts:
        # What the reference has written is not the agent's.
        return await asyncio.to_thread(store, Collected((), ()))
    look = partial(collect, workspace.output, task.resources)
    if not task.services:
        return await asyncio.to_thread(lambda: store(look()))
    own = await asyncio.to_thread(look)
    deadline.step = "collecting what its services hold"
    found = await with_final_state(own, task, attempt.around)
    deadline.step = "storing what was collected"
    return await asyncio.to_thread(store, found)


def _model(worker: WorkerContext, agent: AgentSpec, due: Due) -> ModelClient | None:
    """Return the agent's model; what an earlier attempt has paid for is replayed."""
    if agent.model is None:
        return None
    if agent.budget.max_usd is not None and price_of(agent.model) is None:
        raise Misuse(
            f"agent {agent.name!r}: a budget in USD needs a known price; {agent.model} {UNPRICED}"
        )
    replies, log = worker.run.config.replies, due.log(worker.calls)
    base_url = _base_url(worker, agent, due.trial)
    client = None if replies == "replay" else worker.clients.get(agent.model, base_url)
    if agent.model.provider == "local":
        if client is not None and replies == "ask":
            return client
        # Nobody pays for a model on this machine.
        log = CallLog(worker.calls, Payer(CallPurpose.AGENT, owner=due.trial.id))
    shares, sample = replies != "ask", due.trial.repetition
    return RecordedClient(client, agent.model, base_url, log, shares, sample)


def _base_url(worker: WorkerContext, agent: AgentSpec, trial: Trial) -> str | None:
    """Return where the agent's model is; None for its provider's own place."""
    servers = worker.endpoints.get(str(agent.model))
    if not servers:
        return agent.base_url
    # By task: the server that has read a task's prompt answers its next round faster.
    chosen = crc32(f"{trial.task_id}/{trial.repetition}".encode()) % len(servers)
    return servers[chosen]


def _imported(worker: WorkerContext, agent: AgentSpec, task: Task, journal: Journal) -> _Work:
    """Return the work of a system that ran elsewhere; no sandbox is opened for it."""
    with taken_in(agent, task, worker.folder) as result:
        closed = journal.close(Ending.FINISHED, result.final_answer)
        transcript = closed.model_copy(update={"is_outcome_only": True})
        kept = stored(worker.store, transcript, without_state(result.files, task))
    return _Work(transcript, kept, None, result.effort.seconds, result.effort.of_outcome)
