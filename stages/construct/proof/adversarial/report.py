"""The results of adversarial proof for one task."""

from collections.abc import Iterable, Sequence

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.evidence import MOST_FOR_CHEATS

_ROUNDING = 1e-6


class Survivor(Value):
    """A fault that removed what a requirement names without lowering the root score."""

    fault: str
    deliverable: str | None
    """None: the final answer."""
    what: str

    def __str__(self) -> str:
        return f"{self.deliverable or 'the final answer'}: {self.what}"


class FaultCount(Value):
    """Mutants with one kind of fault."""

    fault: str
    tried: int = Field(ge=0)
    noticed: int = Field(ge=0)


class CheatScore(Value):
    """What the tree pays for one kind of worthless work."""

    name: str
    score: float | None = Field(ge=0, le=10)
    """Root score; None: no leaf could be scored without a judge."""
    leaves: tuple[str, ...] = ()
    """Leaves whose checks give it more than `MOST_FOR_CHEATS`."""

    @property
    def is_paid(self) -> bool:
        """Whether the work earns more than `MOST_FOR_CHEATS`."""
        return self.score is not None and self.score > MOST_FOR_CHEATS + _ROUNDING


class Resistance(Value):
    """Which faults a checkpoint tree notices, and what it gives cheats."""

    faults: tuple[FaultCount, ...] = ()
    """Counts by kind of fault; empty if no reference reaches the full score."""
    survivors: tuple[Survivor, ...] = ()
    not_asked_for: int = Field(default=0, ge=0)
    """Number of faults in content that no requirement names; they do not count."""
    cheats: tuple[CheatScore, ...] = ()

    @property
    def tried(self) -> int:
        """Mutants of what requirements name."""
        return sum(one.tried for one in self.faults)

    @property
    def noticed(self) -> int:
        """Mutants that lowered the root score."""
        return sum(one.noticed for one in self.faults)

    @property
    def paid(self) -> tuple[CheatScore, ...]:
        """The cheats that earn more than `MOST_FOR_CHEATS`, the highest score first."""
        found = [cheat for cheat in self.cheats if cheat.is_paid]
        return tuple(sorted(found, key=lambda cheat: -(cheat.score or 0.0)))

    @property
    def best_cheat(self) -> float | None:
        """The highest score of a cheat; None if no cheat could be scored."""
        scores = [cheat.score for cheat in self.cheats if cheat.score is not None]
        return max(scores, default=None)

    @property
    def unnoticed(self) -> tuple[str, ...]:
        """A sentence for each survivor."""
        return tuple(f"the tree does not notice it: {survivor}" for survivor in self.survivors)

    @property
    def overpaid(self) -> tuple[str, ...]:
        """A sentence for each cheat that earns more than `MOST_FOR_CHEATS`."""
        return tuple(
            f"{cheat.name} earns {cheat.score:.2f}, more than {MOST_FOR_CHEATS:g} "
            f"({', '.join(cheat.leaves)})"
            for cheat in self.paid
        )


def mutation_score(found: Iterable[Resistance]) -> float | None:
    """Return the share (0-1) of noticed mutants among those that remove what is named.

    The formula is killed / (mutants - not asked for), the mutation score of DeMillo, Lipton and
    Sayward (Hints on test data selection, 1978). Faults in content that no requirement names take
    the place of their equivalent mutants. None: there are no mutants.
    """
    every: Sequence[Resistance] = list(found)
    tried = sum(one.tried for one in every)
    return sum(one.noticed for one in every) / tried if tried else None
