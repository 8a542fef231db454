"""What speaks for a task and against it, as reviewers and readers of a release are shown it."""

from typing import Literal

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.construct import ReviewDecision
from taskdata.schema.requirement import ExplicitRequirement

MOST_FOR_CHEATS = 3.0
"""A tree that pays worthless work more than this score does not test the task."""

Became = Literal["masked", "mended", "overridden", "dropped", "stopped", "kept"]
"""`kept`: it is in the task, and nobody has decided about it."""


class CheatPaid(Value):
    """What the checkpoint tree pays for one kind of worthless work."""

    name: str
    score: float | None = Field(ge=0, le=10)
    """Root score; None: no leaf could be scored without a judge."""


class Adversaries(Value):
    """What the tree gives cheats, and how many faults in its reference it notices."""

    cheats: tuple[CheatPaid, ...] = ()
    faults: int = Field(default=0, ge=0)
    """Faults in what requirements name."""
    noticed: int = Field(default=0, ge=0)
    unnoticed: tuple[str, ...] = ()
    """The faults that the tree does not notice, each in a sentence."""
    not_asked_for: int = Field(default=0, ge=0)
    """Further faults, in content that no requirement names."""

    @property
    def best_paid(self) -> CheatPaid | None:
        """The cheat with the highest score; None: none was played, or none could be scored."""
        scored = [cheat for cheat in self.cheats if cheat.score is not None]
        return max(scored, key=lambda cheat: cheat.score or 0.0, default=None)


class SafetyFinding(Value):
    """Personal data, harm or an order to the model that was found on the task's way."""

    rule: str
    where: str
    """The gate or stage that found it, or `draft`, of what was masked."""
    found: str
    """Kind and place in words; never the datum itself."""
    became: Became


class TaskEvidence(Value):
    """Everything that a release records about why one of its tasks can be believed."""

    adversaries: Adversaries | None = None
    """None: the proof tried no cheats."""
    coverage: tuple[ExplicitRequirement, ...] | None = None
    """The requirements that are explicit in the query; None: they were not looked for."""
    safety: tuple[SafetyFinding, ...] = ()
    is_searched: bool = False
    """Whether personal data, harm and orders to the model were looked for in its texts."""
    reviews: tuple[ReviewDecision, ...] = ()
    """The verdicts about the released draft, one of each reviewer; without drafts."""

    @property
    def gaps(self) -> tuple[ExplicitRequirement, ...]:
        """The requirements that no leaf scores."""
        return tuple(one for one in self.coverage or () if not one.leaves)
