"""Scores that people and judges gave to the same leaves, and what their agreement amounts to."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field
from pydantic_core import from_json

from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Rule
from taskdata.schema.estimate import Estimate

PUBLISHED_KAPPA, PUBLISHED_ICC, PUBLISHED_MAE = 0.8, 0.9, 0.75
"""What the published judge reaches, rounded (GTA-2, section 6.4.2): 0.812, 0.928 and 0.74."""


class PathNode(NamedTuple):
    """A node of a checkpoint tree, on the way from the root to a leaf."""

    id: str
    share: float = 1.0
    """Of the weight of all children of the node above it, 0-1."""
    rule: Rule = "weighted_mean"
    passes_from: float = 10.0


def _from_cell(value: Any) -> Any:
    """Return a path that a file holds as JSON in the shape that is validated."""
    return from_json(value) if isinstance(value, str) else value


class Rating(Value):
    """One score of one leaf of one output, by a person or by a judge."""

    task: str
    leaf: str
    rater: str
    score: float = Field(ge=0, le=10, allow_inf_nan=False)
    is_judge: bool = False
    agent: str = ""
    """Source of the output; empty: unknown, then a task has one output."""
    repetition: int = Field(default=0, ge=0)
    occasion: int = Field(default=1, ge=1)
    """2 and more: the same rater scored the same leaf again (test and retest)."""
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the leaf in its output's score."""
    path: Annotated[tuple[PathNode, ...], BeforeValidator(_from_cell)] = ()
    """From the root down to the leaf, where a node on the way requires all of its children; empty:
    the output's score is the mean by `weight`."""
    position: int | None = Field(default=None, ge=0)
    """Place of the leaf among those that the judge was asked."""
    words: int | None = Field(default=None, ge=0)
    """Length of the output that was looked at."""


class Annotation(Value):
    """A person's score of one leaf of a stored trial."""

    trial_id: str
    leaf_id: str
    annotator: str = Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")
    score: float | None = Field(ge=0, le=10, allow_inf_nan=False)
    """None: the person cannot tell."""


class Minima(Value):
    """What a judge must reach against people, with at least so many leaves."""

    kappa: float = Field(default=PUBLISHED_KAPPA, ge=-1, le=1)
    """Cohen's kappa of passing leaves, at least."""
    icc: float = Field(default=PUBLISHED_ICC, ge=-1, le=1)
    """ICC(2,1) of root scores, at least."""
    mae: float = Field(default=PUBLISHED_MAE, ge=0, le=10)
    """Mean absolute error of root scores in points, at most."""
    leaves: int = Field(default=30, ge=1)
    """Leaves that people and the judge have scored, at least."""


class Agreement(Value):
    """Two scores of the same things; every interval is a bootstrap over tasks."""

    pearson: Estimate
    icc: Estimate
    mae: Estimate
    """Mean absolute error, in points of 0-10."""
    within_one: Estimate
    """Share (0-1) that differ by at most one point."""
    accuracy: Estimate
    """Share (0-1) that both call passed or both failed."""
    kappa: Estimate
    """Cohen's kappa of passed or failed."""


class TwoLevels(Value):
    """Agreement on the root scores of outputs, and on single leaves."""

    task: Agreement
    leaf: Agreement


class PassRates(Value):
    """Shares of leaves passed, output by output."""

    pearson: Estimate
    difference: Estimate
    """Mean absolute difference, as a share (0-1)."""


class BetweenJudges(Value):
    """Whether another judge ranks the agents alike, by their mean scores on common leaves."""

    other: str
    agents: int
    spearman: float | None
    kendall: float | None
    leaf: Agreement


class Probe(Value):
    """Whether the judge errs with something that should not matter."""

    name: str
    """`position`, `verbosity` or `self-preference`."""
    what: str
    """How it was measured, or why it was not, in one sentence."""
    effect: Estimate | None = None
    """None: not available."""


class JudgeCard(Value):
    """The evidence that a judge agrees with people."""

    judge: str
    made_at: datetime
    code_version: str
    evidence: str
    """Where the scores are from: a file, or run ids."""
    threshold: float
    """A score above this passes."""
    tasks: int
    outputs: int
    leaves: int
    annotators: tuple[str, ...]
    icc_form: str
    agreement: TwoLevels
    """The judge against the mean of the annotators."""
    pass_rates: PassRates
    between_annotators: TwoLevels | None = None
    """None: fewer than two of them scored the same leaves."""
    by_source: dict[str, TwoLevels] = Field(default_factory=dict)
    """By the agent whose outputs were scored."""
    retest: Agreement | None = None
    """The judge against itself, where it scored leaves twice."""
    judges: tuple[BetweenJudges, ...] = ()
    probes: tuple[Probe, ...] = ()

    def shortfalls(self, minima: Minima) -> list[str]:
        """Return what the judge does not reach, in words; none where it reaches everything."""
        kappa, icc = self.agreement.leaf.kappa.mean, self.agreement.task.icc.mean
        mae = self.agreement.task.mae.mean
        found = []
        if self.leaves < minima.leaves:
            found.append(f"{self.leaves} leaves of {minima.leaves}")
        if kappa is None or kappa < minima.kappa:
            found.append(f"kappa {_shown(kappa)}, at least {minima.kappa:g}")
        if icc is None or icc < minima.icc:
            found.append(f"ICC {_shown(icc)}, at least {minima.icc:g}")
        if mae is None or mae > minima.mae:
            found.append(f"mean absolute error {_shown(mae)}, at most {minima.mae:g}")
        return found


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
