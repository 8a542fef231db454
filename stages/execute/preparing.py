"""Phase 1 of a trial: everything that the agent will work with, including its workspace.

A task's own preprocess program makes the initial files. It runs before the agent, in a sandbox of
its own over a workspace of its own. So only the files that it leaves reach the agent, and neither
the program nor its data or processes. It can use the services of the trial and change their state.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
)
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from environments.mcp.offer import Offer, offered
from environments.models.money.prices import UNPRICED, price_of
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.network.allowed import AllowedNetwork, allowed_network
from environments.ports import Completed, ExposedPort, ModelClient, Sandbox, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.docker.contents import image_files
from environments.sandbox.endings import why_stopped
from environments.sandbox.imaged import let_files_be_run
from environments.sandbox.workspace import new_workspace
from environments.services.running import RunningServices, running_services
from environments.tool_runtime.states import require_ready
from stages.execute.assignment import Harness
from stages.execute.attempt import ExecuteContext, RunningAttempt
from stages.execute.harness import HarnessKind, tools_that_run
from taskdata.artifacts import ArtifactStore
from taskdata.errors import Misuse, PreprocessFailed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.task import InputFile, Task, launch_time

ENTRY = "preprocess/main.py"
"""Path of the program among the task's preprocess files (Toolathlon, section 3)."""

WALL_SECONDS = 300.0
"""Its time limit, which is longer than that of an agent's call."""

_MAX_FILES = 5_000
_WORKSPACE = "/workspace/output"

Files = Mapping[str, Path | bytes]
"""Files by relative path: the location of each, or its content."""


@dataclass(frozen=True)
class Surroundings:
    """What the sandboxes of a trial can reach: the task's services, and allowed hosts."""

    services: RunningServices
    network: AllowedNetwork

    @property
    def exposed_ports(self) -> tuple[ExposedPort, ...]:
        """The ports under which programs reach them."""
        return (*self.services.exposed_ports, *self.network.exposed_ports)


@dataclass(frozen=True)
class Prepared:
    """What phase 1 has prepared for the agent."""

    task: Task
    agent: AgentSpec
    kind: HarnessKind
    harness: Harness
    model: ModelClient | None
    """None for agents without a model, and for those that use a proxy."""
    offer: Offer
    """The tools and servers that the task offers."""
    surroundings: Surroundings
    workspace: Workspace


@asynccontextmanager
async def prepared(
    attempt: RunningAttempt,
    task: Task,
    agent: AgentSpec,
    kind: HarnessKind,
    build: Callable[[AgentSpec, Task], Harness],
) -> AsyncIterator[Prepared]:
    """Yield what the agent needs; services and workspace are removed when the block ends.

    Raises:
        Misuse: the agent's model, or a tool of the task, cannot be used here.
        ServiceFailed: a service did not become healthy.
        PreprocessFailed: the task's preprocess program failed.
        SandboxFailed: a sandbox, or the network's proxy, cannot be made.
    """
    shared, deadline, draft = attempt.shared, attempt.deadline, attempt.draft
    config = shared.worker.run.config
    offer = offered(task)
    require_ready(tools_that_run(kind, task, offer.tools), config, config.sandbox)
    harness = build(agent, task)
    model = None if kind.metered else _model(attempt, agent)
    deadline.step = "starting its services"
    async with (
        AsyncExitStack() as workspaces,
        running_services(
            task.services, shared.service_host, keep=task.services_of_programs
        ) as services,
        allowed_network(task.resources.network) as network,
    ):
        around = Surroundings(services, network)
        try:
            deadline.step = "making its workspace"
            workspace = await _new_workspace(shared, task, around, workspaces, draft.started_at)
            yield Prepared(task, agent, kind, harness, model, offer, around, workspace)
        finally:
            if draft.limits is not None:
                found = {"services": services.facts, "refused_targets": network.refused()}
                draft.limits = draft.limits.model_copy(update=found)


def _model(attempt: RunningAttempt, agent: AgentSpec) -> ModelClient | None:
    """Return the agent's model client; calls that earlier attempts have paid for are replayed."""
    if agent.model is None:
        return None
    if agent.budget.max_usd is not None and price_of(agent.model) is None:
        raise Misuse(
            f"agent {agent.name!r}: a budget in USD needs a known price; {agent.model} {UNPRICED}"
        )
    worker, due = attempt.shared.worker, attempt.due
    replies, log = worker.run.config.replies, due.log(attempt.calls)
    base_url = attempt.shared.base_url(agent, due.trial)
    client = None if replies == "replay" else worker.clients.get(agent.model, base_url)
    if agent.model.provider == "local":
        if client is not None and replies == "ask":
            return client
        # Local models cost nothing, so their calls are neither stored nor charged.
        log = CallLog(attempt.calls, Payer(CallPurpose.AGENT, owner=due.trial.id))
    shares, sample = replies != "ask", due.trial.repetition
    return RecordedClient(client, agent.model, base_url, log, shares, sample)


async def _new_workspace(
    shared: ExecuteContext,
    task: Task,
    around: Surroundings,
    workspaces: AsyncExitStack,
    launched: datetime,
) -> Workspace:
    """Return a workspace in the task's initial state; `workspaces` removes it."""
    own = await image_files(task.image, task.resources) if task.image else {}
    async with _initial_files(shared, task, around, launched) as read:
        # Making and removing a workspace waits for the disk, so both happen in a thread.
        made = ExitStack()
        workspaces.push_async_callback(asyncio.to_thread, made.close)
        workspace = await asyncio.to_thread(
            lambda: made.enter_context(_filled(shared.worker.folder, task, {**own, **read()}))
        )
    if task.image is not None:
        await asyncio.to_thread(let_files_be_run, workspace.output)
    return workspace


def _filled(parent: Path, task: Task, files: Files) -> AbstractContextManager[Workspace]:
    """Return a workspace with the task's initial files where the agent looks for them."""
    if task.has_one_workspace:
        return new_workspace(parent, {}, begun=files)
    return new_workspace(parent, files)


@asynccontextmanager
async def _initial_files(
    shared: ExecuteContext, task: Task, around: Surroundings, launched: datetime
) -> AsyncIterator[Callable[[], Files]]:
    """Yield a function that reads the trial's input files, valid within the block; it blocks.

    Raises:
        PreprocessFailed: the program failed, took too long, or left files that cannot be used.
        SandboxFailed: the sandbox itself failed.
    """
    worker = shared.worker
    artifacts = worker.store.artifacts
    read = partial(_bytes_of, task.files, artifacts)
    programs = task.environment.preprocess if task.environment else ()
    if not any(file.path == ENTRY for file in programs):
        yield read
        return
    limits = task.resources.model_copy(
        update={"wall_seconds": WALL_SECONDS, "max_files": _MAX_FILES}
    )
    files = await asyncio.to_thread(read)
    beside = task.folder if task.has_one_workspace else programs
    program = await asyncio.to_thread(_bytes_of, beside, artifacts)
    with new_workspace(worker.folder, program, begun=files) as workspace:
        async with worker.provider.open(
            workspace, limits, worker.run.id, around.exposed_ports
        ) as sandbox:
            await _preprocess(task, sandbox, launched)
        collected = await asyncio.to_thread(collect, workspace.output, limits)
        if collected.rejected:
            raise PreprocessFailed(
                f"task {task.id!r}: {ENTRY} left what no workspace may hold: "
                f"{collected.rejected[0]}"
            )
        left: Files = {file.name: file.path for file in collected.files}
        yield lambda: left


def _bytes_of(files: tuple[InputFile, ...], artifacts: ArtifactStore) -> Files:
    return {file.path: artifacts.read_bytes(file.sha256) for file in files}


async def _preprocess(task: Task, sandbox: Sandbox, launched: datetime) -> None:
    # The same time as the programs are told that score the trial.
    arguments = ["--agent_workspace", _WORKSPACE, "--launch_time", launch_time(launched)]
    done = await sandbox.run([*sandbox.python(), f"input/{ENTRY}", *arguments])
    if problem := _problem(done):
        raise PreprocessFailed(f"task {task.id!r}: {ENTRY} {problem}; the task needs mending")


def _problem(done: Completed) -> str | None:
    stopped = why_stopped(done)
    if stopped:
        return f"was stopped after {done.seconds:.0f} s: {stopped}"
    if done.exit_code == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"ended with code {done.exit_code}: {lines[-1][:300] if lines else 'no message'}"
