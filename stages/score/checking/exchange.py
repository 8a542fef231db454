"""Messages between the scoring process and a process that runs checks, one per line."""

from pydantic import Field

from stages.score.evidence import TrialEvidence
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Check
from taskdata.schema.scores import LeafScore
from taskdata.schema.views import View


class CheckLimits(Value):
    """Limits for checks. Deliverables can drive their resource use, so exceeding one scores 0."""

    check_seconds: float = Field(default=10.0, gt=0)
    """CPU time of one check; on the starter bank's reference solutions, 0.1 at most."""
    trial_seconds: float = Field(default=30.0, gt=0)
    """CPU time of all checks of one trial; those after the one that exceeds it are not run."""
    wall_seconds: float = Field(default=300.0, gt=0)
    """Wait for one check on a busy machine; exceeding it is our failure, not a 0."""
    memory_bytes: int = Field(default=2 << 30, gt=0)
    """Address space of the process."""


class LeafCheck(Value):
    """A check and the leaf that it scores."""

    leaf_id: str
    check: Check


class CheckRequest(Value):
    """The checks of one trial and the evidence that they check."""

    checks: tuple[LeafCheck, ...]
    views: dict[str, View]
    delivered: tuple[str, ...]
    final_answer: str
    check_seconds: float
    trial_seconds: float
    """What is left of the trial's CPU time."""

    @property
    def evidence(self) -> TrialEvidence:
        """What checks may see of the trial."""
        return TrialEvidence(
            views=self.views, delivered=self.delivered, final_answer=self.final_answer
        )


class CheckReply(Value):
    """The result of one check."""

    score: LeafScore | None
    refused: str = ""
    """Why the task's check cannot run at all; then there is no score."""
    cpu_seconds: float = 0.0
    """CPU time of the check."""
