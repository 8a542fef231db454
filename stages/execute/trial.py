"""One trial from end to end, in three phases: prepare, run the agent, collect."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from environments.mcp.offer import server_tools
from environments.metering.proxy import MeteringProxy
from environments.models.retry import is_silence
from environments.ports import Sandbox
from environments.sandbox.imaged import provider_of_image
from environments.tool_runtime.toolbox import RESERVED, Toolbox
from environments.toolkit.host_tool import HostToolContext
from stages.execute.asking_again import answers_now
from stages.execute.assignment import Assignment
from stages.execute.attempt import (
    Counts,
    DueAttempt,
    ExecuteContext,
    OutcomeDraft,
    RunningAttempt,
    cause,
    detail_of,
)
from stages.execute.cases.asking import case_of, offered_specs
from stages.execute.cases.offered import OfferedTools
from stages.execute.collecting import collect_work, take_in_results
from stages.execute.dialogue.journal import Journal
from stages.execute.harness import harness_kind, provider_for
from stages.execute.metered import metered
from stages.execute.pool_servers import started_from_pool
from stages.execute.preparing import Prepared, prepared
from stages.execute.recorded_tools import recorded_tools
from stages.execute.talks import talk_seconds
from stages.execute.tool_services import services_for
from stages.refine.critics import with_critique
from stages.workers.deadline import Deadline, in_time
from taskdata.errors import Misuse
from taskdata.schema.image import TaskImage
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.run import TrialOutcome
from taskdata.schema.transcript import Transcript

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentWork:
    """The result of phase 2."""

    transcript: Transcript
    seconds: float
    """Wall time from the agent's start until its sandbox began to close."""


async def run_trial(shared: ExecuteContext, due: DueAttempt) -> TrialOutcome:
    """Make one attempt at a trial and return its outcome, which is not stored yet; never raises.

    A failure outside the agent (model server, sandbox, disk, our own bug, a hanging call) is an
    outcome too: `INFRASTRUCTURE`, with its cause.
    """
    worker, trial_id, started = shared.worker, due.trial.id, time.monotonic()
    attempt = RunningAttempt(
        shared,
        due,
        Journal(partial(worker.holder.answered, trial_id)),
        Deadline(worker.run.config.deadlines, worker.ends),
        OutcomeDraft(trial_id, due.number, worker.run.config.sandbox),
    )
    try:
        return await in_time(_finished(attempt), attempt.deadline)
    # One trial must not stop its batch, whatever went wrong; the traceback is stored.
    except Exception as exc:  # noqa: BLE001
        if is_silence(exc):
            worker.holder.unanswered(trial_id)
        _logger.warning("trial %s: %s", trial_id, cause(exc))
        detail = await asyncio.to_thread(detail_of, worker.store, attempt.journal, exc)
        seconds = time.monotonic() - started
        return attempt.draft.failed(cause(exc), attempt.journal, detail, seconds)


async def _finished(attempt: RunningAttempt) -> TrialOutcome:
    """Return the outcome of an attempt that completes; raises whatever prevents that."""
    trial, deadline, draft = attempt.due.trial, attempt.deadline, attempt.draft
    deadline.set_up("reading its task")
    task = await attempt.shared.task(trial.task_hash)
    draft.limits = SandboxLimits(asked=task.resources)
    agent = attempt.shared.worker.run.config.agent(trial.agent).held_to(task.max_turns)
    kind = harness_kind(agent.harness)
    if kind.build is None:
        return await asyncio.to_thread(take_in_results, attempt, agent, task)
    attempt = await with_critique(attempt, task, agent)
    async with prepared(attempt, task, agent, kind, kind.build) as ready:
        work = await run_agent(attempt, ready)
        answers = await answers_now(attempt, ready)
        stored = await collect_work(attempt, ready, work.transcript, answers)
        deadline.step = "ending its services and removing its workspace"
    counts = Counts.of(attempt.journal)
    return draft.finished(stored, counts, ready.harness.prompt_version, work.seconds)


async def run_agent(attempt: RunningAttempt, ready: Prepared) -> AgentWork:
    """Let the agent work in its sandbox, which is closed afterwards.

    Raises:
        NightshiftError: a fault that is not the agent's, as listed at `Harness`.
    """
    agent, deadline = ready.agent, attempt.deadline
    if ready.task.planning is not None and not ready.kind.is_program:
        return await _plan(attempt, ready)
    deadline.step = "opening its sandbox"
    async with (
        _way_to_model(attempt, ready) as proxy,
        _sandbox(attempt, ready, proxy) as sandbox,
        _toolbox(attempt, ready, sandbox) as toolbox,
    ):
        started = time.monotonic()
        assignment = Assignment(
            brief=ready.task.brief(
                attempt.due.trial.feedback, attempt.draft.started_at, ready.earlier
            ),
            agent=agent,
            tools=toolbox,
            model=ready.model,
            journal=attempt.journal,
            input_folder=ready.workspace.input,
            sandbox=sandbox,
            user=ready.user,
            proxy=proxy,
        )
        deadline.work(agent, talk_seconds(ready.user))
        try:
            transcript = await ready.harness.run(assignment)
        finally:
            deadline.collect("closing its sandbox")
        seconds = time.monotonic() - started
        if not ready.kind.is_program:
            transcript = transcript.model_copy(update={"tools": toolbox.specs})
    return AgentWork(transcript, seconds)


async def _plan(attempt: RunningAttempt, ready: Prepared) -> AgentWork:
    """Let the agent answer a planning case, of which nothing is run: it needs no sandbox."""
    attempt.draft.sandbox = "none"
    brief = ready.task.brief(attempt.due.trial.feedback, attempt.draft.started_at, ready.earlier)
    tools = OfferedTools(offered_specs(case_of(brief)))
    assignment = Assignment(
        brief=brief,
        agent=ready.agent,
        tools=tools,
        model=ready.model,
        journal=attempt.journal,
        input_folder=ready.workspace.input,
    )
    started = time.monotonic()
    attempt.deadline.work(ready.agent, 0.0)
    transcript = await ready.harness.run(assignment)
    seconds = time.monotonic() - started
    return AgentWork(transcript.model_copy(update={"tools": tools.specs}), seconds)


@asynccontextmanager
async def _way_to_model(
    attempt: RunningAttempt, ready: Prepared
) -> AsyncIterator[MeteringProxy | None]:
    """Yield the proxy of an agent that calls its model by itself, None for other agents."""
    if ready.kind.metered is None:
        yield None
        return
    due = attempt.due
    log = due.log(attempt.calls)
    base_url = attempt.shared.base_url(ready.agent, due.trial)
    clients = attempt.shared.worker.clients
    async with metered(
        ready.agent, ready.kind.metered, base_url, attempt.journal, clients, log
    ) as proxy:
        yield proxy


@asynccontextmanager
async def _sandbox(
    attempt: RunningAttempt, ready: Prepared, proxy: MeteringProxy | None
) -> AsyncIterator[Sandbox]:
    """Yield the agent's sandbox; the draft records which limits it enforces."""
    worker, draft, agent = attempt.shared.worker, attempt.draft, ready.agent
    asked = ready.task.resources
    resources = asked if ready.kind.resources is None else ready.kind.resources(agent, asked)
    exposed_ports = (
        *ready.surroundings.exposed_ports,
        *(proxy.exposed_ports if proxy else ()),
    )
    provider = provider_of_image(provider_for(agent, worker.provider), _image(ready))
    async with provider.open(ready.workspace, resources, worker.run.id, exposed_ports) as sandbox:
        held = sandbox.facts()
        draft.limits = SandboxLimits(asked=asked, enforced=held.enforced)
        draft.sandbox_image = held.image
        yield sandbox


def _image(ready: Prepared) -> TaskImage | None:
    """Return the image of the task.

    Raises:
        Misuse: both the agent and the task have an image, and a sandbox can only have one.
    """
    image, agent = ready.task.image, ready.agent
    if image is not None and agent.image is not None:
        raise Misuse(
            f"agent {agent.name!r}: its image {agent.image!r} and that of the task, "
            f"{image.name!r}, cannot both be used; leave out the agent's"
        )
    return image


@asynccontextmanager
async def _toolbox(
    attempt: RunningAttempt, ready: Prepared, sandbox: Sandbox
) -> AsyncIterator[Toolbox]:
    """Yield the agent's tools over its sandbox."""
    shared, offer = attempt.shared, ready.offer
    attempt.deadline.step = "starting its MCP servers"
    services = await services_for(attempt, ready.task)
    context = HostToolContext(services, lambda: tuple(attempt.journal.events))
    pool = await asyncio.to_thread(
        started_from_pool,
        ready.task,
        ready.workspace,
        shared.worker.store.artifacts,
        shared.worker.run.config.bank,
    )
    async with server_tools(
        offer,
        sandbox,
        ready.workspace,
        ready.task.resources,
        shared.home,
        taken={*offer.tools, *RESERVED},
        pool=pool,
    ) as served:
        recorded = recorded_tools(ready.task, shared.worker.run.config, offer.tools)
        yield Toolbox(offer.tools, sandbox, context, (*served, *recorded.values()))
