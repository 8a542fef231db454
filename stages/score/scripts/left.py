"""What somebody left of a task: what its programs look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from taskdata.schema.checkpoint import ScriptCheck
from taskdata.schema.limits import KeptState
from taskdata.schema.run import Deliverable
from taskdata.schema.transcript import Transcript


@dataclass(frozen=True)
class Left:
    """What a program looks at: all that somebody left of a task."""

    files: Sequence[Deliverable]
    launched: datetime
    answer: str = ""
    transcript: Transcript | None = None
    kept: Mapping[str, KeptState] | None = None
    """The final state of services, by name; None: they are as a trial finds them."""
    rejected: Sequence[str] = ()
    """Files and states that were not kept, with reasons."""
    name: str = ""
    """Names it in the log."""

    def lacks(self, script: ScriptCheck) -> str | None:
        """Return a service of the program whose state was not kept."""
        if self.kept is None:
            return None
        return next((name for name in script.services if name not in self.kept), None)
