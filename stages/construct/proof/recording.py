"""Recorded tool chains: a reference solution is run, and each tool result is recorded.

As in GTA (section 3.3), a chain with a misbehaving tool is unusable: the recording names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environments.ports import SandboxProvider
from environments.sandbox.workspace import new_workspace
from environments.tool_runtime.toolbox import Toolbox
from environments.tools.workspace.python_code import NOTHING_PRINTED
from stages.execute.assignment import Assignment
from stages.execute.harnesses.reference import Reference
from stages.score.matching import storable
from taskdata.errors import BadTaskData
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import ReferenceSolution, ReferenceStep, Task
from taskdata.schema.transcript import ToolEvent
from taskdata.store import Store

MAX_RESULT_CHARS = 20_000
"""A longer result is cut, because it becomes part of the task."""

_MAX_SHOWN = 300
_REFERENCE = AgentSpec(harness="reference")


@dataclass(frozen=True)
class Recording:
    """A reference solution with the results of its steps."""

    solution: ReferenceSolution
    faults: tuple[str, ...]
    """Steps with a misbehaving tool: number, tool and its message; empty: the chain is sound."""


def task_files(store: Store, task: Task) -> dict[str, bytes]:
    """Return the bytes of the task's files by path."""
    return {file.path: store.artifacts.read_bytes(file.sha256) for file in task.files}


async def record_chain(
    task: Task, files: Mapping[str, Path | bytes], provider: SandboxProvider, folder: Path
) -> Recording:
    """Run the task's reference solution with the real tools in a fresh workspace.

    Args:
        task: Must have a reference solution.
        files: The task's files by path below `input/`.
        provider: Makes the sandbox in which the tools run.
        folder: Parent of the workspace, which is removed afterwards.

    Raises:
        BadTaskData: the task has no reference solution, or offers a tool that does not exist.
        SandboxFailed: the sandbox failed, not the chain.
    """
    if task.reference is None:
        raise BadTaskData(f"task {task.id!r}: has no reference solution to record")
    with new_workspace(folder, files) as workspace:
        async with provider.open(workspace, task.resources, task.id) as sandbox:
            tools = Toolbox(task.tools, sandbox)
            assignment = Assignment(brief=task.brief(), agent=_REFERENCE, tools=tools)
            transcript = await Reference(task).run(assignment)
    events = transcript.tool_events
    steps = tuple(map(_recorded, task.reference.steps, events))
    found = (_fault(number, event) for number, event in enumerate(events, start=1))
    return Recording(
        solution=task.reference.model_copy(update={"steps": steps}),
        faults=tuple(fault for fault in found if fault),
    )


def _recorded(step: ReferenceStep, event: ToolEvent) -> ReferenceStep:
    text = storable(event.text)
    if len(text) > MAX_RESULT_CHARS:
        notice = f"\n[cut: {MAX_RESULT_CHARS} of {len(text)} characters]"
        text = text[: MAX_RESULT_CHARS - len(notice)] + notice
    return step.model_copy(update={"result": text})


def _fault(number: int, event: ToolEvent) -> str | None:
    where = f"step {number}, {event.call.tool}"
    if event.error is not None:
        said = " ".join(storable(event.text).split())[:_MAX_SHOWN]
        return f"{where}: {event.error.value}: {said}"
    if event.text.strip() in ("", NOTHING_PRINTED) and not event.files:
        return f"{where}: an empty result"
    return None
