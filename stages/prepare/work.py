"""The prepare stage: check what the run needs, and plan the trials of its first round."""

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from environments.mcp.offer import offered
from environments.models.capabilities import NOTHING_KNOWN, capabilities_of, native_inputs
from environments.models.money.prices import UNPRICED, price_of
from environments.models.registry import require_model
from environments.sandbox.providers import sandbox_provider
from environments.services.kinds import READY, service_state
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.states import require_ready
from environments.toolkit.services import services_of
from stages.execute.harness import (
    harness_kind,
    harness_takes_feedback,
    provider_for,
    require_agent,
    require_harness,
    tools_that_run,
)
from stages.execute.recorded_tools import recorded_tools
from stages.execute.talks import lacking_for_talk
from stages.prepare.needs import server_state
from stages.prepare.rescore import copy_trials
from stages.refine.critics import lacking_for_critique
from stages.score.asked_again import filled
from stages.score.library import validate_check
from taskdata.errors import BadTaskData, Misuse, SandboxFailed, ToolUnavailable
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import AskedAgain, Check
from taskdata.schema.run import Run, RunConfig, StageReport, Trial
from taskdata.schema.task import Task
from taskdata.schema.withdrawal import Withdrawal
from taskdata.store import Store

HOME = Path(".nightshift")
_NAMED = 5


def require(config: RunConfig) -> None:
    """Check everything that can be known before the run: agents, models, keys, judge, sandbox.

    Raises:
        Misuse: if an agent, provider, model or key is unknown or missing, or a cap on money could
            not be enforced.
        SandboxFailed: if the sandbox does not work on this machine.
    """
    require_fitting(config)
    if not config.plays_back:
        for agent in config.working:
            if agent.model is not None:
                require_model(agent.model, agent.base_url)
        if config.user is not None and not config.rescores:
            require_model(config.user, config.user_base_url)
        if config.critic is not None and not config.rescores:
            require_model(config.critic, config.critic_base_url)
        for judge in config.every_judge:
            require_model(judge.model, judge.base_url)
        if config.labeller is not None:
            require_model(config.labeller, config.labeller_base_url)
    provider = sandbox_provider(config.sandbox)
    with_images = (provider_for(agent, provider) for agent in config.working if agent.image)
    for wanted in (provider, *with_images):
        reason = wanted.unavailable()
        if reason:
            raise SandboxFailed(f"sandbox {config.sandbox}: {reason}")


def require_fitting(config: RunConfig) -> None:
    """Check what can be known without keys and sandbox: agents, models, judge, cap on money.

    Raises:
        Misuse: if an agent, provider or model is unknown, or a cap could not be enforced.
    """
    for agent in config.working:
        require_harness(agent.harness)
        require_agent(agent)
        if config.replies != "ask" and harness_kind(agent.harness).metered is not None:
            raise Misuse(
                f"agent {agent.name!r}: asks its model by itself, so its replies cannot be kept "
                f"for other runs; leave --replies {config.replies} out"
            )
        if agent.model is not None:
            require_model(agent.model, agent.base_url, is_asked=False)
            capped = agent.budget.max_usd is not None or config.max_usd is not None
            if capped and price_of(agent.model) is None:
                raise Misuse(
                    f"agent {agent.name!r}: a budget in USD needs a known price, and "
                    f"{agent.model} {UNPRICED}"
                )
    if not config.rescores:
        _require_capped_tools(config)
        _require_capped(config, "the simulated user's model", config.user, config.user_base_url)
        _require_fitting_critic(config)
    for judge in config.every_judge:
        _require_capped(config, "the judge", judge.model, judge.base_url)
    require_fitting_labeller(config)


def require_fitting_labeller(config: RunConfig) -> None:
    """Check what can be known of a run's labeller without its key.

    Raises:
        Misuse: if the model is unknown, or the run's cap on money could not be enforced.
    """
    _require_capped(config, "the labeller", config.labeller, config.labeller_base_url)


def _require_capped(
    config: RunConfig, role: str, model: ModelSpec | None, base_url: str | None
) -> None:
    """Raise `Misuse` if the model in a role is unknown, or has no price while money is capped."""
    if model is None:
        return
    require_model(model, base_url, is_asked=False)
    if config.max_usd is not None and price_of(model) is None:
        raise Misuse(
            f"max_usd = {config.max_usd:g}: a cap needs known prices, and {role} {model} {UNPRICED}"
        )


def _require_fitting_critic(config: RunConfig) -> None:
    """Raise `Misuse` where feedback that a model writes could not be had, or not under the cap."""
    if config.refinement_rounds:
        for agent in config.agents:
            if not harness_takes_feedback(agent.harness):
                continue
            if (reason := lacking_for_critique(config, agent)) is not None:
                raise Misuse(reason)
    _require_capped(config, "the critic", config.critic, config.critic_base_url)


def _require_capped_tools(config: RunConfig) -> None:
    caps = (config.max_usd, *(agent.budget.max_usd for agent in config.agents))
    cap = next((usd for usd in caps if usd is not None), None)
    if cap is None:
        return
    uncapped = {"image_model": config.image_model, "video_model": config.video_model}
    for field, model in uncapped.items():
        if model is not None:
            raise Misuse(
                f"max_usd = {cap:g}: what {field} = {str(model)!r} costs is not under "
                f"this cap; leave out {field} or max_usd"
            )
    if config.tool_model is not None and price_of(config.tool_model) is None:
        raise Misuse(
            f"tool_model = {str(config.tool_model)!r}: a limit in USD needs a known price, and "
            f"this model {UNPRICED}"
        )


def do(store: Store, run_id: str, home: Path = HOME) -> StageReport:
    """Plan every unplanned trial of round 0; `home`: where MCP servers are installed.

    A rescoring gets copies of its source's trials instead, of all rounds.
    """
    started = time.monotonic()
    run = store.run(run_id)
    require(run.config)
    if run.config.rescores:
        return copy_trials(store, run)
    withdrawn = store.withdrawn_of_release(run.release_hash)
    tasks = _tasks_to_run(store, run, withdrawn)
    trials = _first_trials(run, tasks)
    new = store.plan_trials(trials)
    return StageReport(
        stage="prepare",
        run_id=run_id,
        due=len(trials),
        done=len(trials),
        seconds=time.monotonic() - started,
        note=f"{new} trials planned over {len(tasks)} tasks"
        + _withdrawn(withdrawn.values())
        + _not_played(tasks.values(), run.config)
        + _not_talked(tasks.values(), run.config)
        + _not_shown(tasks.values(), run.config)
        + _not_ready(tasks.values(), run.config, home)
        + _without_backend(tasks.values(), run.config),
    )


def _tasks_to_run(store: Store, run: Run, withdrawn: Collection[str]) -> dict[str, Task]:
    """Return the run's tasks that are neither in quarantine nor withdrawn, by content hash.

    Raises `Misuse` if all were withdrawn, and what `require_usable` raises.
    """
    left_out = store.quarantined_tasks(run.id)
    tasks = {
        task_hash: task
        for task_hash, task in store.tasks_of_run(run.id).items()
        if task.id not in left_out and task_hash not in withdrawn
    }
    if withdrawn and not tasks:
        raise Misuse(f"bank {run.config.bank!r}: every task that could run was withdrawn")
    for task in tasks.values():
        require_usable(task)
    return tasks


def _first_trials(run: Run, tasks: Mapping[str, Task]) -> list[Trial]:
    """Return all trials of round 0; raises `Misuse` if there are none."""
    trials = [
        first_trial(run.id, agent.name, task_hash, task, repetition)
        for agent in run.config.agents
        for task_hash, task in tasks.items()
        if can_play(agent, task) and is_given(agent, task, run.config)
        for repetition in repetitions(agent, run.config)
    ]
    if not trials:
        names = ", ".join(agent.name for agent in run.config.agents)
        raise Misuse(
            f"agents {names}: no task of bank {run.config.bank!r} has a reference solution to "
            "play; evaluate another agent"
        )
    return trials


def repetitions(agent: AgentSpec, config: RunConfig) -> range:
    """Return which repetitions of a task the agent makes."""
    return range(config.repetitions if harness_kind(agent.harness).repeats else 1)


def can_play(agent: AgentSpec, task: Task) -> bool:
    """Return whether the agent has anything to do on the task."""
    has_reference = task.reference is not None or task.planning is not None
    return has_reference or not harness_kind(agent.harness).needs_reference


def is_given(agent: AgentSpec, task: Task, config: RunConfig) -> bool:
    """Return whether the run gives the agent this task."""
    return agent.name not in config.only or task.id in config.only[agent.name]


def _withdrawn(withdrawals: Collection[Withdrawal]) -> str:
    """Return which tasks of the release are left out because they were withdrawn."""
    if not withdrawals:
        return ""
    first = [withdrawal.task_id for withdrawal in withdrawals][:_NAMED]
    more = ", ..." if len(withdrawals) > _NAMED else ""
    return f"; {len(withdrawals)} withdrawn and left out: {', '.join(first)}{more}"


def _not_played(tasks: Collection[Task], config: RunConfig) -> str:
    """Return for how many tasks each agent has no trial."""
    tasks = list(tasks)
    counts = {
        agent.name: sum(not can_play(agent, task) for task in tasks) for agent in config.agents
    }
    return "".join(
        f"; {count} without a reference solution are not given to {name}"
        for name, count in counts.items()
        if count
    )


def _not_talked(tasks: Collection[Task], config: RunConfig) -> str:
    """Return which agents cannot take part in the talks among the tasks, and why."""
    notes = []
    for agent in config.agents:
        lacking = [why for task in tasks if (why := lacking_for_talk(task, agent, config))]
        if lacking:
            notes.append(f"; {agent.name} cannot do {len(lacking)} of them: {lacking[0]}")
    return "".join(notes)


def _not_shown(tasks: Iterable[Task], config: RunConfig) -> str:
    """Return which agents are not shown input files that other agents may be shown."""
    if not any(task.files for task in tasks):
        return ""
    notes = []
    for agent in config.agents:
        # A local model's server takes only text, and a program makes its requests itself.
        if agent.model is None or agent.model.provider == "local" or not _is_ours(agent):
            continue
        if agent.native_inputs is None and capabilities_of(agent.model) is NOTHING_KNOWN:
            notes.append(
                f"; which files {agent.model} takes is not known, so {agent.name} is shown none "
                "itself unless its native_inputs names them"
            )
        elif set(agent.native_inputs or ()) - set(native_inputs(agent)):
            notes.append(f"; {agent.name} is shown no audio: requests to {agent.model} take none")
    return "".join(notes)


def _is_ours(agent: AgentSpec) -> bool:
    return harness_kind(agent.harness).metered is None


def _not_ready(tasks: Iterable[Task], config: RunConfig, home: Path) -> str:
    """Return how many tasks need something that is not ready here, and the first reason."""
    reasons = [reason for task in tasks if (reason := _lacks(task, config, home))]
    if not reasons:
        return ""
    return (
        f"; {len(reasons)} of them need a tool or service that is not ready, and cannot run: "
        f"{reasons[0]}"
    )


def _without_backend(tasks: Iterable[Task], config: RunConfig) -> str:
    """Return how many published tasks offer tools that are not ready, and what such a call does."""
    kinds = [harness_kind(agent.harness) for agent in config.agents]
    if all(kind.predicts or kind.build is None for kind in kinds):
        return ""
    lacking = [recorded_tools(task, config, offered(task).tools) for task in tasks]
    named = sorted({name for tools in lacking for name in tools})
    if not named:
        return ""
    return (
        f"; {sum(map(bool, lacking))} published tasks offer tools that are not ready "
        f"({', '.join(named)}): a call that is not recorded with the task ends its trial"
    )


def _lacks(task: Task, config: RunConfig, home: Path) -> str | None:
    """Return why a tool, server or service of the task is not ready, None if all are."""
    offer = offered(task)
    kinds = [harness_kind(agent.harness) for agent in config.agents]
    needed = {tool for kind in kinds for tool in tools_that_run(kind, task, offer.tools)}
    try:
        recorded = recorded_tools(task, config, offer.tools)
        tools = [t for t in offer.tools if t in needed and t not in recorded]
        require_ready(tools, config, config.sandbox, services_of(task))
    except ToolUnavailable as exc:
        return str(exc)
    states = [server_state(name, task, home, config.sandbox, config.bank) for name in offer.servers]
    for service in task.services:
        state = service_state(service.kind, config.sandbox)
        states.append(READY if state == READY else f"service {service.name}: {state}")
    return next((state for state in states if state != READY), None)


def require_usable(task: Task) -> None:
    """Raise `BadTaskData` if the task names an unknown tool or an unusable check."""
    # The tools of a planning case stand in the case, and are never run.
    unknown = sorted(set(task.tools) - set(catalogue())) if task.planning is None else []
    if unknown:
        raise BadTaskData(f"task {task.id!r} names unknown tools: {', '.join(unknown)}")
    for leaf in task.checkpoints.leaves():
        if isinstance(leaf.verifier, AskedAgain):
            _require_answerable(task, leaf.id, leaf.verifier)
        if isinstance(leaf.verifier, Check):
            try:
                validate_check(leaf.verifier)
            except BadTaskData as exc:
                raise BadTaskData(f"task {task.id!r}, checkpoint {leaf.id!r}: {exc}") from exc


def _require_answerable(task: Task, leaf_id: str, verifier: AskedAgain) -> None:
    """Raise `BadTaskData` unless the task may have the tool, and the check accepts an answer."""
    where, offer = f"task {task.id!r}, checkpoint {leaf_id!r}", offered(task)
    if not offer.servers and verifier.tool not in offer.tools:
        raise BadTaskData(f"{where}: calls {verifier.tool!r} again, which is no tool of the task")
    fault = None
    for answer in (1.5, "text"):
        try:
            validate_check(filled(verifier.check, answer))
        except BadTaskData as exc:
            fault = exc
        else:
            return
    raise BadTaskData(f"{where}: {fault}")


def first_trial(run_id: str, agent: str, task_hash: str, task: Task, repetition: int) -> Trial:
    """Return the trial of round 0."""
    return Trial(
        id=Trial.make_id(run_id, agent, task.id, repetition, 0),
        run_id=run_id,
        agent=agent,
        task_id=task.id,
        task_hash=task_hash,
        tier=task.tier,
        category=task.category,
        repetition=repetition,
        round=0,
    )
