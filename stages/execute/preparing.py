"""Phase 1 of a trial: everything that the agent will work with, including its workspace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from environments.mcp.offer import Offer, offered
from environments.models.money.prices import UNPRICED, price_of
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.network.allowed import AllowedNetwork, allowed_network
from environments.ports import ExposedPort, ModelClient, Workspace
from environments.sandbox.docker.contents import image_files
from environments.sandbox.imaged import let_files_be_run
from environments.sandbox.workspace import open_workspace
from environments.scripts.preprocessing import LeftServers
from environments.services.running import RunningServices, running_services
from environments.tool_runtime.states import require_ready
from environments.toolkit.services import services_of
from stages.execute.assignment import Harness
from stages.execute.attempt import RunningAttempt
from stages.execute.dialogue.simulated_user import TalkingUser
from stages.execute.earlier import EarlierWork, earlier_work, sample_of
from stages.execute.harness import HarnessKind, tools_that_run
from stages.execute.planning.asked_once import AskedOnce
from stages.execute.planning.plan_first import PlanFirst
from stages.execute.preprocessing import Files, begun
from stages.execute.recorded_tools import recorded_tools
from stages.execute.talks import talking_user
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.arms import EarlierAttempt
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.task import Task


@dataclass(frozen=True)
class Surroundings:
    """What a trial's sandboxes can reach: the task's services and servers, and allowed hosts."""

    services: RunningServices
    network: AllowedNetwork
    servers: LeftServers | None = None
    """The servers that the task's preprocess program has left running."""

    @property
    def exposed_ports(self) -> tuple[ExposedPort, ...]:
        """The ports under which programs reach them."""
        left = self.servers.exposed_ports if self.servers else ()
        return (*self.services.exposed_ports, *self.network.exposed_ports, *left)


@dataclass(frozen=True)
class Prepared:
    """What phase 1 has prepared for the agent."""

    task: Task
    agent: AgentSpec
    kind: HarnessKind
    harness: Harness
    model: ModelClient | None
    """None for agents without a model, and for those that use a proxy."""
    user: TalkingUser | None
    """The simulated user who answers the agent; None: the task has none."""
    offer: Offer
    """The tools and servers that the task offers."""
    surroundings: Surroundings
    workspace: Workspace
    earlier: EarlierAttempt | None = None
    """What the agent is told of the attempt that it refines; None in a first attempt."""


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
        Misuse: the agent's model, or a tool of the task, cannot be used here, or the agent cannot
            talk with the task's user.
        ServiceFailed: a service did not become healthy.
        PreprocessFailed: the task's preprocess program failed.
        SandboxFailed: a sandbox, or the network's proxy, cannot be made.
    """
    shared, deadline, draft = attempt.shared, attempt.deadline, attempt.draft
    config = shared.worker.run.config
    offer = offered(task)
    before = await asyncio.to_thread(earlier_work, attempt, task)
    recorded = recorded_tools(task, config, offer.tools)
    running = [t for t in tools_that_run(kind, task, offer.tools) if t not in recorded]
    require_ready(running, config, config.sandbox, services_of(task))
    harness = build(agent, task)
    if agent.plans:
        harness = _planning_first(attempt, harness, task, agent, kind)
    user = talking_user(attempt, task, agent, kind)
    model = None if kind.metered else _model(attempt, agent)
    deadline.step = "starting its services"
    async with (
        running_services(
            task.services, shared.service_host, keep=task.services_of_programs
        ) as services,
        allowed_network(task.resources.network) as network,
    ):
        ports = Surroundings(services, network).exposed_ports
        try:
            deadline.step = "making its workspace"
            async with (
                begun(shared.worker, task, ports, draft.started_at) as start,
                _workspace(shared.worker.folder, task, start.files, before) as workspace,
            ):
                around = Surroundings(services, network, start.servers)
                yield Prepared(
                    task,
                    agent,
                    kind,
                    harness,
                    model,
                    user,
                    offer,
                    around,
                    workspace,
                    None if before is None else before.told,
                )
        finally:
            if draft.limits is not None:
                found = {"services": services.facts, "refused_targets": network.refused()}
                draft.limits = draft.limits.model_copy(update=found)


def _model(attempt: RunningAttempt, agent: AgentSpec) -> ModelClient | None:
    """Return the agent's model client; calls that earlier attempts have paid for are replayed."""
    if agent.model is None:
        return None
    client, base_url = _asked(attempt, agent, agent.model)
    replies = attempt.shared.worker.run.config.replies
    if agent.model.provider == "local" and client is not None and replies == "ask":
        return client
    # A later attempt without feedback may ask what the first one asked, and is to be told anew.
    log, sample = _log(attempt, agent.model), sample_of(attempt.due.trial)
    return RecordedClient(client, agent.model, base_url, log, replies != "ask", sample)


def _planning_first(
    attempt: RunningAttempt, harness: Harness, task: Task, agent: AgentSpec, kind: HarnessKind
) -> PlanFirst:
    launched = attempt.shared.worker.run.created_at
    return PlanFirst(
        harness,
        _planner(attempt, agent),
        system_prompt=task.brief(launched=launched).system_prompt,
        refines=agent.planning == "plan_refine",
        plans_with_tools=not kind.is_program,
    )


def _planner(attempt: RunningAttempt, agent: AgentSpec) -> ModelClient:
    """Return the client for the agent's plan, whose replies all agents of the run share.

    Where the run keeps replies, other runs share them too.
    """
    if agent.model is None:
        raise Misuse(f"agent {agent.name!r}: it has no model that could be asked for a plan")
    client, base_url = _asked(attempt, agent, agent.model)
    worker = attempt.shared.worker
    recorded = RecordedClient(
        client,
        agent.model,
        base_url,
        _log(attempt, agent.model),
        shares=True,
        sample=sample_of(attempt.due.trial),
        scope=worker.run.id if worker.run.config.replies == "ask" else "",
    )
    return AskedOnce(recorded, worker.store, attempt.shared.home)


def _asked(
    attempt: RunningAttempt, agent: AgentSpec, model: ModelSpec
) -> tuple[ModelClient | None, str | None]:
    """Return the client that asks the agent's model, None if nobody is asked, and its URL."""
    if agent.budget.max_usd is not None and price_of(model) is None:
        raise Misuse(
            f"agent {agent.name!r}: a budget in USD needs a known price; {model} {UNPRICED}"
        )
    worker = attempt.shared.worker
    base_url = attempt.shared.base_url(agent, attempt.due.trial)
    if worker.run.config.plays_back:
        return None, base_url
    return worker.clients.get(model, base_url), base_url


def _log(attempt: RunningAttempt, model: ModelSpec) -> CallLog:
    if model.provider == "local":
        # Local models cost nothing, so their calls are neither stored nor charged.
        return CallLog(attempt.calls, Payer(CallPurpose.AGENT, owner=attempt.due.trial.id))
    return attempt.due.log(attempt.calls)


@asynccontextmanager
async def _workspace(
    parent: Path, task: Task, files: Files, before: EarlierWork | None
) -> AsyncIterator[Workspace]:
    """Yield a workspace with the task's initial files where the agent looks for them."""
    own = await image_files(task.image, task.resources) if task.image else {}
    at_hand: Files = {**own, **files}
    given: Files = {} if task.has_one_workspace else at_hand
    begun_with: Files = at_hand if task.has_one_workspace else {}
    if before is not None:
        # Of a single workspace the earlier files are all that there is: some may be deleted.
        given, begun_with = {**before.to_read, **given}, before.to_go_on or begun_with
    folders = task.folders if task.has_one_workspace else ()
    made = open_workspace(parent, given, begun_with, folders)
    async with made as workspace:
        if task.image is not None:
            await asyncio.to_thread(let_files_be_run, workspace.output)
        yield workspace
