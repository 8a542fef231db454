"""What an agent left at the end of a task, for the programs that score it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.limits import KeptState
from taskdata.schema.run import Deliverable
from taskdata.schema.transcript import Transcript


@dataclass(frozen=True)
class Left:
    """Everything that an agent, or a tried workspace, left at the end of a task."""

    files: Sequence[Deliverable]
    launched: datetime
    answer: str = ""
    transcript: Transcript | None = None
    kept: Mapping[str, KeptState] | None = None
    """The final state of services by name; None: their initial state."""
    rejected: Sequence[str] = ()
    """Files and states that were not kept, with reasons."""
    name: str = ""
    """Name for the log."""

    def lacks(self, script: ScriptCheck) -> str | None:
        """Return the name of a service that the program needs and whose state was not kept."""
        if self.kept is None:
            return None
        return next((name for name in script.services if name not in self.kept), None)
