"""Tools that cannot run here, answered from the chain that a task of GTA-Atomic was published with.

GTA's tools need models and keys that many machines lack. Its tasks bring the result of every call
of their reference, so that such a call needs no backend. Any other call of such a tool ends the
trial, as one of a tool without a backend does elsewhere.
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
from taskdata.schema.task import GTA_ATOMIC, ImageGenerationAnswer, ReferenceStep, Task
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
            f"tool {self.spec.name}: {self.lacks}; only the calls of the published chain are "
            "answered without it"
        )


def recorded_tools(
    task: Task, config: RunConfig, offered: Sequence[str]
) -> Mapping[str, RecordedTool]:
    """Return those of the offered tools that are not ready and have a recorded chain, by name.

    There are none for a picture that a judge is to see, because nothing is drawn.
    """
    origin = task.provenance
    if origin.source != GTA_ATOMIC or origin.seed_id is not None or task.reference is None:
        return {}
    if isinstance(task.answer, ImageGenerationAnswer) and config.every_judge:
        return {}
    found, known, brought = {}, catalogue(), services_of(task)
    for name in offered:
        state = tool_state(name, config, config.sandbox, brought) if name in known else READY
        if state != READY:
            steps = tuple(step for step in task.reference.steps if step.tool == name)
            found[name] = RecordedTool(known[name].spec, steps, state)
    return found


def _comparable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.removeprefix("./").removeprefix(_INPUT) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
