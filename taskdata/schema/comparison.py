"""What `nightshift compare` reports: pairs of agents or runs, paired by task."""

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.estimate import Estimate

ALPHA = 0.05
"""Where nothing differs, one of the pairs compared at once is called different at most so often."""


class ComparedSide(Value):
    """First attempts of one agent in one run."""

    run_id: str
    agent: str
    trials: int
    """Trials planned."""
    root_score: Estimate
    """Over all its tasks, 0-10; `n` trials have a score."""
    root_sr: Estimate
    """Share (0-1) of its decided trials that succeeded, by its run's own success rule."""
    error_rate: float | None
    """Share (0-1) of planned trials that were lost to infrastructure errors."""
    coverage: float | None
    """Mean share (0-1) of tree weight that was scored."""
    judge: str | None = None
    scorer_version: str | None = None

    @property
    def label(self) -> str:
        """Agent and run."""
        return f"{self.agent} in {self.run_id}"


class TestedDifference(Value):
    """A mean difference over the common tasks, second minus first, and its test."""

    tasks: int
    difference: Estimate
    p_value: float | None
    """Two-sided sign-flip permutation test; None below two common tasks."""
    p_holm: float | None = None
    """Corrected for all pairs that were compared at once (Holm 1979)."""
    detectable: float | None = None
    """Smallest true difference that so many tasks would show in 80 of 100 comparisons, at 0.05
    over the number of pairs; None below three tasks, or where the differences do not vary."""


class Flips(Value):
    """Tasks on which one side mostly succeeded and the other one mostly failed."""

    tasks: int
    """Common tasks where both sides are decided, and neither is even."""
    gained: int
    """Failed by the first side and succeeded by the second one."""
    lost: int
    rate: Estimate
    """Share (0-1) of those tasks that differ, with Wilson's interval."""
    p_value: float | None
    """McNemar's test in its exact form; None without any such task."""
    p_holm: float | None = None


class PairedSides(Value):
    """Two sides over the tasks that both were scored on."""

    first: ComparedSide
    second: ComparedSide
    root_score: TestedDifference
    root_score_range: tuple[float, float] | None = None
    """How far verdicts that are missing leave the difference open; None where none is."""
    root_sr: TestedDifference
    flips: Flips
    only_first: int = 0
    """Scored tasks of one side alone: they are left out."""
    only_second: int = 0
    changed: int = 0
    """Tasks of the same id with other content: they are left out, too."""
    notes: tuple[str, ...] = ()
    """What limits the comparison, in whole sentences."""

    @property
    def is_different(self) -> bool:
        """Whether the root scores differ beyond chance, among all pairs compared at once."""
        return self.root_score.p_holm is not None and self.root_score.p_holm <= ALPHA


class RankedAgent(Value):
    """An agent's place in its run, with the ranks that its pairs leave open."""

    agent: str
    best: int
    worst: int


class Comparison(Value):
    """Every pair that was compared at once."""

    runs: tuple[str, ...]
    pairs: tuple[PairedSides, ...]
    differs: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Setting -> (first run, second run); empty within one run."""
    ranks: tuple[RankedAgent, ...] = ()
    """Within one run: the competing agents that were compared, by root score."""
