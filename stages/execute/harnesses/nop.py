"""The agent that does nothing: a task that gives it points gives them to everybody."""

from stages.execute.assignment import Assignment
from taskdata.schema.transcript import Ending, Transcript


class Nop:
    """Finishes at once with an empty answer."""

    prompt_version: str | None = None

    async def run(self, assignment: Assignment) -> Transcript:
        """Return an empty transcript."""
        return assignment.journal.close(Ending.FINISHED)
