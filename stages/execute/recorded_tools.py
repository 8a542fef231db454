"""Tools of published tasks that cannot run here: their calls, not their presence, end a trial.

GTA's tools need models and keys that many machines lack, and its tasks offer more of them than they
need. A task of GTA-Atomic brings the result of every call of its reference, so that such a call
needs no backend. Any other call ends the trial, as one of a tool without a backend does elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.ports import Sandbox
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.states import READY, tool_state
from environments.toolkit.services import services_of
from taskdata.errors import ToolUnavailable
from taskdata.schema.run import RunConfig
from taskdata.schema.task import (
    GTA_ATOMIC,
    GTA_WORKFLOW,
    ImageGenerationAnswer,
    ReferenceStep,
    Task,
)
from taskdata.schema.tool import ToolResult, ToolSpec

_INPUT = "input/"
"""Where a trial's input files lie; a published chain names them without it."""


@dataclass(frozen=True)
class RecordedTool:
    """A tool that answers the calls of a recorded chain and cannot be run; implements `Tool`."""

    spec: ToolSpec
    steps: tuple[ReferenceStep, ...]
    lacks: str
    """What it lacks here."""

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the recorded result of an equal call.

        Raises:
            ToolUnavailable: such a call was not recorded.
        """
        asked = _comparable(arguments)
        for step in self.steps:
            if step.result is not None and _comparable(step.arguments) == asked:
                return ToolResult(text=step.result)
        raise ToolUnavailable(
            f"tool {self.spec.name}: {self.lacks}; without it only calls of a published chain are "
            "answered"
        )


def recorded_tools(
    task: Task, config: RunConfig, offered: Sequence[str]
) -> Mapping[str, RecordedTool]:
    """Return those of the offered tools that are not ready, by name; none for a task of our own.

    There are none for a picture that a judge is to see, because nothing is drawn.
    """
    origin = task.provenance
    if origin.source not in (GTA_ATOMIC, GTA_WORKFLOW) or origin.seed_id is not None:
        return {}
    if isinstance(task.answer, ImageGenerationAnswer) and config.every_judge:
        return {}
    found, known, brought = {}, catalogue(), services_of(task)
    chain = () if task.reference is None else task.reference.steps
    for name in offered:
        state = tool_state(name, config, config.sandbox, brought) if name in known else READY
        if state != READY:
            steps = tuple(step for step in chain if step.tool == name)
            found[name] = RecordedTool(known[name].spec, steps, state)
    return found


def _comparable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.removeprefix("./").removeprefix(_INPUT) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
