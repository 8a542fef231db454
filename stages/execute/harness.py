"""The harnesses by name; a new one needs a module and an entry here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from environments.ports import SandboxProvider
from stages.execute.adapters.installed import require_adapter
from stages.execute.assignment import Harness
from stages.execute.cases.planner import CasePlanner, PlayedCase
from stages.execute.command import Command, require_command, with_room
from stages.execute.harnesses.function_calling import FunctionCalling
from stages.execute.harnesses.nop import Nop
from stages.execute.harnesses.react import React
from stages.execute.harnesses.reference import Reference
from stages.execute.harnesses.step_by_step import IN_CALLS, IN_TEXT, StepByStep
from stages.execute.imported.taking import require_results
from stages.execute.metered import Reach
from taskdata.errors import Misuse
from taskdata.schema.agent import PLANNER, AgentSpec
from taskdata.schema.task import Resources, Task


@dataclass(frozen=True)
class HarnessKind:
    """What is known of a harness before it runs."""

    build: Callable[[AgentSpec, Task], Harness] | None
    """Makes the harness for one trial; None: the work was done elsewhere, and is imported."""
    needs_model: bool
    takes_feedback: bool
    """Whether another attempt with feedback can differ from the first."""
    needs_reference: bool = False
    """Whether it needs the task's reference solution."""
    predicts: bool = False
    """Whether it only predicts the next step and leaves no files to check."""
    repeats: bool = True
    """Whether more than one repetition makes sense."""
    require: Callable[[AgentSpec], None] | None = None
    """Raises `Misuse` if the agent's own settings do not fit."""
    may_have_model: bool = False
    """Whether a model is optional."""
    talks: bool | None = False
    """Whether it can continue after a user's answer; None: it needs no user for its work."""
    metered: Reach | None = None
    """Where it calls its model from, through the metering proxy; None: it uses our client."""
    resources: Callable[[AgentSpec, Resources], Resources] | None = None
    """Computes the limits of its sandbox from those of a tool call; None: the same limits."""
    plans: Literal["never", "too", "only"] = "never"
    """Whether it answers planning cases, beside tasks that it does or as all that it does."""

    @property
    def is_program(self) -> bool:
        """Whether the agent is a program in the sandbox, which does not use our tools."""
        return self.metered == "sandbox"


def _openai_agents(agent: AgentSpec, task: Task) -> Harness:
    from stages.execute.adapters.openai_agents import OpenAIAgents

    return OpenAIAgents()


def _pydantic_ai(agent: AgentSpec, task: Task) -> Harness:
    from stages.execute.adapters.pydantic_ai import PydanticAI

    return PydanticAI()


def _reference(agent: AgentSpec, task: Task) -> Harness:
    return Reference(task) if task.planning is None else PlayedCase(task.planning)


HARNESSES: Mapping[str, HarnessKind] = {
    "reference": HarnessKind(
        _reference,
        needs_model=False,
        takes_feedback=False,
        needs_reference=True,
        talks=None,
        plans="too",
    ),
    "import": HarnessKind(
        None,
        needs_model=False,
        takes_feedback=False,
        repeats=False,
        require=require_results,
        talks=None,
        plans="too",
    ),
    "nop": HarnessKind(
        lambda agent, task: Nop(),
        needs_model=False,
        takes_feedback=False,
        talks=None,
        plans="too",
    ),
    "react": HarnessKind(
        lambda agent, task: React(agent), needs_model=True, takes_feedback=True, talks=True
    ),
    "function_calling": HarnessKind(
        lambda agent, task: FunctionCalling(), needs_model=True, takes_feedback=True, talks=True
    ),
    "command": HarnessKind(
        lambda agent, task: Command(plans=task.planning is not None),
        needs_model=False,
        takes_feedback=True,
        require=require_command,
        may_have_model=True,
        metered="sandbox",
        resources=with_room,
        plans="too",
    ),
    "openai_agents": HarnessKind(
        _openai_agents,
        needs_model=True,
        takes_feedback=True,
        require=require_adapter,
        talks=True,
        metered="loopback",
    ),
    "pydantic_ai": HarnessKind(
        _pydantic_ai,
        needs_model=True,
        takes_feedback=True,
        require=require_adapter,
        talks=True,
        metered="loopback",
    ),
    PLANNER: HarnessKind(
        lambda agent, task: CasePlanner(),
        needs_model=True,
        takes_feedback=True,
        plans="only",
    ),
    "react_steps": HarnessKind(
        lambda agent, task: StepByStep(IN_TEXT, agent, task),
        needs_model=True,
        takes_feedback=False,
        needs_reference=True,
        predicts=True,
    ),
    "function_calling_steps": HarnessKind(
        lambda agent, task: StepByStep(IN_CALLS, agent, task),
        needs_model=True,
        takes_feedback=False,
        needs_reference=True,
        predicts=True,
    ),
}

MODES = ("end-to-end", "step-by-step", "plan")
"""Modes of evaluation (GTA, section 4.1; APB, section 3.1)."""

_PREDICTING = {"react": "react_steps", "function_calling": "function_calling_steps"}


def harness_kind(name: str) -> HarnessKind:
    """Return the harness of that name; raises `Misuse` with the known names."""
    try:
        return HARNESSES[name]
    except KeyError:
        raise Misuse(f"harness {name!r}: unknown; there are {', '.join(HARNESSES)}") from None


def require_harness(name: str) -> None:
    """Raise `Misuse` unless there is a harness of that name."""
    harness_kind(name)


def require_agent(agent: AgentSpec) -> None:
    """Raise `Misuse` unless the agent's name and settings fit its harness."""
    if agent.label in HARNESSES:
        raise Misuse(f"agent {agent.label!r}: a harness has this name; give another label")
    if agent.results is not None and agent.harness != "import":
        raise Misuse(f"agent {agent.name!r}: only harness 'import' takes results")
    if (agent.command or agent.program or agent.image) and agent.harness != "command":
        raise Misuse(
            f"agent {agent.name!r}: only harness 'command' takes a command, a program and an image"
        )
    if agent.text_tool_calls is not None and not agent.harness.startswith("function_calling"):
        raise Misuse(
            f"agent {agent.name!r}: only harness 'function_calling' takes text_tool_calls; "
            "remove it"
        )
    structured = agent.harness == PLANNER or agent.harness.startswith("react")
    if agent.structured_steps is not None and not structured:
        raise Misuse(
            f"agent {agent.name!r}: only harness 'react' takes structured_steps; remove it"
        )
    kind = harness_kind(agent.harness)
    _require_planning(agent, kind)
    if not kind.may_have_model and kind.needs_model != (agent.model is not None):
        wants = "needs a model" if agent.model is None else "takes no model"
        raise Misuse(f"agent {agent.name!r}: harness {agent.harness!r} {wants}")
    if kind.require is not None:
        kind.require(agent)


def _require_planning(agent: AgentSpec, kind: HarnessKind) -> None:
    if not agent.plans:
        return
    if kind.plans == "only":
        raise Misuse(
            f"agent {agent.name!r}: it only plans, so nothing comes after a plan; remove "
            f"planning = {agent.planning!r}"
        )
    if kind.predicts:
        raise Misuse(
            f"agent {agent.name!r}: step by step the reference is the plan; remove "
            f"planning = {agent.planning!r}, or leave --mode step-by-step out"
        )
    if agent.model is None:
        way_out = f"name one ({agent.way_of_working}:provider/model)"
        alone = kind.may_have_model or kind.needs_model
        raise Misuse(
            f"agent {agent.name!r}: it has no model that could be asked for a plan; "
            + (f"{way_out}, or " if alone else "")
            + f"remove planning = {agent.planning!r}"
        )


def provider_for(agent: AgentSpec, provider: SandboxProvider) -> SandboxProvider:
    """Return the agent's sandbox provider: `provider`, or one with the agent's own image.

    Raises:
        Misuse: the agent has an image, but the run's sandbox does not support images.
    """
    if agent.image is None:
        return provider
    if provider.name != "docker":
        raise Misuse(
            f"agent {agent.name!r}: its image needs sandbox 'docker', and this run has "
            f"{provider.name!r}; set --sandbox docker, or leave the image out"
        )
    from environments.sandbox.docker.provider import Docker

    return Docker(agent.image)


def harness_takes_feedback(name: str) -> bool:
    """Whether refinement rounds make sense for agents of this harness."""
    return harness_kind(name).takes_feedback


def tools_that_run(kind: HarnessKind, task: Task, offered: Sequence[str]) -> tuple[str, ...]:
    """Return which of the offered tools may be run in a trial.

    A call that is only predicted runs no tool: those of the reference are run, where their results
    were not recorded with it.
    """
    if not kind.predicts:
        return tuple(offered)
    steps = () if task.reference is None else task.reference.steps
    if all(step.result is not None for step in steps):
        return ()
    return tuple(tool for tool in offered if any(step.tool == tool for step in steps))


def in_plan_mode(agent: AgentSpec) -> AgentSpec:
    """Return the agent for planning cases: one with a model is a planner with the same settings.

    Raises:
        Misuse: the agent predicts steps of reference solutions, or plans before it works.
    """
    kind = harness_kind(agent.harness)
    if kind.plans != "never":
        return agent
    if kind.predicts or agent.plans:
        raise Misuse(
            f"agent {agent.name!r}: it cannot answer planning cases; name it without its mode "
            f"(react:{agent.model})"
        )
    return agent.model_copy(update={"harness": PLANNER, "text_tool_calls": None})


AsPlanner = Callable[[AgentSpec], AgentSpec]
"""Makes an agent one for planning cases: `in_plan_mode`, or that with defaults of planners."""


def in_mode(agent: AgentSpec, mode: str, as_planner: AsPlanner = in_plan_mode) -> AgentSpec:
    """Return the agent for a mode of evaluation: `end-to-end`, `step-by-step` or `plan`.

    In step by step mode its harness is one that predicts, and in plan mode `as_planner` makes it
    one that plans, so that the name differs.

    Raises:
        Misuse: unknown mode, or there is no predicting harness for the agent.
    """
    if mode not in MODES:
        raise Misuse(f"mode {mode!r}: unknown; there are {', '.join(MODES)}")
    if mode == "plan":
        return as_planner(agent)
    if mode == "end-to-end" or agent.harness in _PREDICTING.values():
        return agent
    if agent.harness not in _PREDICTING:
        raise Misuse(
            f"agent {agent.name!r}: nothing to predict step by step; name agents of harness "
            f"{' or '.join(_PREDICTING)} with --agent"
        )
    return agent.model_copy(update={"harness": _PREDICTING[agent.harness]})
