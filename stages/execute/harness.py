"""The harnesses by name; adding one is one module and one entry here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stages.execute.assignment import Harness
from stages.execute.function_calling import FunctionCalling
from stages.execute.nop import Nop
from stages.execute.react import React
from stages.execute.reference import Reference
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import Task


@dataclass(frozen=True)
class HarnessKind:
    """What is known of a harness before it runs."""

    build: Callable[[AgentSpec, Task], Harness]
    """Makes the instance of one trial."""
    needs_model: bool
    takes_feedback: bool
    """Whether another attempt with feedback can differ from the first."""
    needs_reference: bool = False
    """Whether it has nothing to play where a task has no reference solution."""


HARNESSES: Mapping[str, HarnessKind] = {
    "reference": HarnessKind(
        lambda agent, task: Reference(task),
        needs_model=False,
        takes_feedback=False,
        needs_reference=True,
    ),
    "nop": HarnessKind(lambda agent, task: Nop(), needs_model=False, takes_feedback=False),
    "react": HarnessKind(lambda agent, task: React(agent), needs_model=True, takes_feedback=True),
    "function_calling": HarnessKind(
        lambda agent, task: FunctionCalling(), needs_model=True, takes_feedback=True
    ),
}


def harness_kind(name: str) -> HarnessKind:
    """Return what is known of the harness, or raise `Misuse` listing those there are."""
    try:
        return HARNESSES[name]
    except KeyError:
        raise Misuse(f"harness {name!r}: unknown; there are {', '.join(HARNESSES)}") from None


def require_harness(name: str) -> None:
    """Raise `Misuse` unless there is a harness of that name."""
    harness_kind(name)


def harness_needs_model(name: str) -> bool:
    """Whether agents of this harness are named with a model."""
    return harness_kind(name).needs_model


def harness_takes_feedback(name: str) -> bool:
    """Whether refinement rounds make sense for agents of this harness."""
    return harness_kind(name).takes_feedback
