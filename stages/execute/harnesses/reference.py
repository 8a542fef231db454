"""The agent that plays a task's reference solution, which must reach the full score."""

import json
import time
from datetime import UTC, datetime

from stages.execute.assignment import Assignment
from taskdata.errors import BadTaskData
from taskdata.schema.task import ReferenceSolution, Task
from taskdata.schema.transcript import Ending, ToolCall, Transcript


class Reference:
    """Plays the steps with the same tools and sandbox as any agent."""

    prompt_version: str | None = None

    def __init__(self, task: Task) -> None:
        """Take the solution from the task, because the brief that agents get does not have it."""
        if task.reference is None:
            raise BadTaskData(f"task {task.id!r}: has no reference solution to play")
        self._solution: ReferenceSolution = task.reference

    async def run(self, assignment: Assignment) -> Transcript:
        """Return the transcript of the solution.

        A step that fails is recorded like any agent's and the rest is played: the task then scores
        below 10 and the gate on scores reports it.
        """
        journal = assignment.journal
        for number, step in enumerate(self._solution.steps, start=1):
            call = ToolCall(
                id=f"step-{number}",
                tool=step.tool,
                arguments=step.arguments,
                raw=json.dumps(step.arguments, ensure_ascii=False),
            )
            started_at, started = datetime.now(UTC), time.monotonic()
            result = journal.pictures.taken(await assignment.tools.call(call), sees=False)
            journal.tool_call(call, result, started_at, time.monotonic() - started)
            # Long results are kept as for any agent, since a later step may read more of one.
            assignment.tools.shown(result)
        return journal.close(Ending.FINISHED, self._solution.final_answer)
