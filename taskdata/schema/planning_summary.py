"""The numbers of planning cases: what `results --planning` prints and the planning page draws."""

from typing import Literal

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.estimate import Estimate


class PlanMarks(Value):
    """Answers to a group of planning cases, in the columns of APB's table 1.

    An answer that could not be read, and one on which a judge gave no verdict, count as not correct
    and as grade 0, without an error flag; `correct_upper` is what the verdicts could add. Answers
    that nobody was asked to judge are left out.
    """

    answers: int
    """Finished answers; those that infrastructure prevented are not among them."""
    marked: int
    """Answers behind the estimates."""
    unreadable: int = 0
    no_verdict: int = 0
    no_judge: int = 0
    infrastructure: int = 0
    correct: Estimate
    """Share (0-1) without any error: plan correctness."""
    correct_upper: float | None = None
    """The share if every verdict that is missing were favourable."""
    grade: Estimate
    """Mean plan grade, 0-1."""
    errors: dict[str, Estimate] = Field(default_factory=dict)
    """Share (0-1) of answers with each error, E1 to E6, and with E2's two subtypes."""


class ExtraneousUse(Value):
    """Answers to cases with so many distractors."""

    calls: int
    """Calls of distractors, over all answers (APB, figure 4)."""
    marks: PlanMarks


class ExtraneousEffect(Value):
    """What distractors do to the answers of one agent, in one form (APB, tables 2, 16 and 17)."""

    calls: int
    """Calls of distractors, over all answers."""
    base: Estimate
    """Correctness on the base cases of the extraneous ones, each counted once."""
    extraneous: Estimate
    difference: Estimate
    """Extraneous minus base, over the base cases that both sides have marks for."""
    p_value: float | None
    """Of a paired sign-flip test over source tasks; None below two."""
    by_count: dict[int, ExtraneousUse]
    """By the number of distractors."""


class PlanCosts(Value):
    """Cost of the tool chains of efficiency-aware cases (APB, table 5)."""

    marks: PlanMarks
    all: Estimate
    """Over all answers with a known cost."""
    passed: Estimate
    """Over correct answers."""
    common: Estimate
    """Over the cases that every agent that has answered efficiency cases answered correctly."""
    optimum: Estimate
    """The proven optimum of the cases, over all answers."""
    over_optimum: Estimate
    """Cost above the proven optimum in correct answers, as a share of the optimum (0: none)."""
    trap_calls: int
    """Calls of traps, over all answers."""


class PlanningAgent(Value):
    """Everything about one agent's answers to planning cases, of first attempts."""

    agent: str
    is_control: bool = False
    settings: dict[str, PlanMarks]
    """By setting; `extraneous_holistic` and `extraneous_step_wise` stand apart."""
    extraneous: dict[str, ExtraneousEffect] = Field(default_factory=dict)
    """By form."""
    behaviours: dict[str, Estimate] = Field(default_factory=dict)
    """Share (0-1) of each behaviour after a broken tool, of the answers where it is decided."""
    behaviours_undecided: int = 0
    refusals: dict[str, Estimate] = Field(default_factory=dict)
    """Share (0-1) of unsolvable cases that were refused with an empty chain, by kind."""
    horizons: dict[str, PlanMarks] = Field(default_factory=dict)
    """Step-wise, by the number of actions asked for."""
    positions: dict[str, PlanMarks] = Field(default_factory=dict)
    """Step-wise with one action: `early`, `middle`, `late` third of the trajectory."""
    step_ranges: dict[str, PlanMarks] = Field(default_factory=dict)
    """Holistic, by the length of the reference's tool chain: `1-5` to `>20`."""
    modalities: dict[str, PlanMarks] = Field(default_factory=dict)
    """Holistic, by the richest medium of the case's files."""
    costs: PlanCosts | None = None


class PlanningComparison(Value):
    """Two agents on the cases of one setting that both have marks for."""

    setting: str
    first: str
    second: str
    cases: int
    difference: Estimate
    """Correctness of the second minus that of the first."""
    p_value: float | None
    p_holm: float | None
    """Corrected for all comparisons of the table."""


class RefinedPlans(Value):
    """Correctness before and after refinement, of one arm in one form (APB, table 4).

    Over all answers of the form: one that was not tried again keeps what it was. APB lets every
    plan be revised; a run tries again those that fell short, so that none can get worse here.
    """

    agent: str
    arm: str
    form: str
    answers: int
    retried: int
    base: Estimate
    refined: Estimate
    difference: Estimate
    """Refined minus base, paired by answer and clustered by source task."""
    p_value: float | None
    """Of a paired sign-flip test over source tasks; None below two."""


class PlanningOutcome(Value):
    """Whether an agent's plans foretell what it achieves (APB, section 5.1)."""

    agent: str
    doing_agent: str
    """The agent of the same model whose trials on the source tasks are compared."""
    tasks: int
    by: Literal["correctness", "grade"]
    correlation: float | None
    """Pearson's, over source tasks; None below three tasks, or where one side does not vary."""
    ci95: tuple[float, float] | None
    """From drawing tasks with replacement (BCa bootstrap); None below five tasks."""


class DraftMarks(Value):
    """What code alone finds in plans that were made before the work.

    They name tools and no arguments, and no judge is asked about them: a plan is faulty, has the
    reference's tools in their order, or stays open. So there is no share of correct plans.
    """

    plans: int
    """Of tasks with a reference solution."""
    faulty: Estimate
    """Share (0-1) in which code finds an error, and of those that cannot be read."""
    unreadable: int = 0
    as_reference: int = 0
    """Those with the reference's tools in their order."""
    errors: dict[str, int] = Field(default_factory=dict)
    """Plans with each error that was found: E2 or E6."""


class WaysOfPlanning(Value):
    """One model in one harness, with and without a plan, on the same tasks (APB, table 3).

    `plan_first` and `plan_refine` start from one shared draft.
    """

    harness: str
    model: str
    tasks: int
    """Tasks that every way has scores on; the figures are over these."""
    root_scores: dict[str, Estimate]
    """By way: `direct`, `plan_first`, `plan_refine`."""
    over_direct: dict[str, Estimate] = Field(default_factory=dict)
    """Root score minus that of `direct`, paired by task; empty without `direct`."""
    p_values: dict[str, float | None] = Field(default_factory=dict)
    """Of the paired sign-flip tests, corrected for their number (Holm)."""
    drafts: dict[str, DraftMarks] = Field(default_factory=dict)
    """Of the plans, over their first attempts: by `plan_first` the shared drafts, by `plan_refine`
    those that were followed after their refinement."""


class PlanningSummary(Value):
    """The planning tables of a run."""

    agents: tuple[PlanningAgent, ...] = ()
    comparisons: tuple[PlanningComparison, ...] = ()
    refined: tuple[RefinedPlans, ...] = ()
    outcomes: tuple[PlanningOutcome, ...] = ()
    ways: tuple[WaysOfPlanning, ...] = ()
    """Of agents that did tasks, with and without a plan."""
