"""The numbers of a run: what `results --json` prints and the dashboard draws."""

from datetime import datetime

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.gate import GateResult
from taskdata.schema.run import JudgeEffort, StageReport


class Estimate(Value):
    """A mean with its 95 % interval, which respects clustering by task."""

    mean: float | None
    ci95: tuple[float, float] | None
    """None where fewer than two tasks were scored."""
    n: int = 0
    """Trials behind the mean."""


class RunHeader(Value):
    """Identity of a run."""

    id: str
    status: str
    bank: str
    release_hash: str
    code_version: str
    created_at: datetime
    finished_at: datetime | None
    threshold: float
    judge: str | None
    sandbox: str
    repetitions: int
    refinement_rounds: int
    tasks: int
    dashboard: str | None = None
    error: str | None = None


class StepAccuracy(Value):
    """Predictions against references, over the trials of an agent that works step by step.

    The metrics of GTA, section 4.1, as shares (0-1). Their `n` are steps, calls or answers.
    """

    trials: int
    inst_acc: Estimate
    """InstAcc: calls and answers where the reference has one, and that could be carried out.

    As in the published scorer, an answer to a task without a text to compare counts, though not
    among the `n`: over many such tasks the share can pass 1.
    """
    tool_acc: Estimate
    """ToolAcc: calls of the reference's tool, of its calls."""
    arg_acc: Estimate
    """ArgAcc: those with the reference's arguments, too, of its calls."""
    summ_acc: Estimate
    """SummAcc: right answers, of those that were scored."""
    answers: int
    """References with a text to compare with."""
    answers_unscored: int
    """Of these, subjective ones: nothing here compares meanings."""
    predicted_calls: int
    predicted_errors: int


class AgentSummary(Value):
    """One agent's first attempts (round 0). Shares are 0-1; None: nothing to measure."""

    agent: str
    trials: int
    """Trials planned."""
    scored: int
    """Trials with a root score: the denominator of every score here."""
    errors: int
    """Infrastructure errors: beside the scores, never inside them."""
    pending: int
    """Neither finished nor failed yet."""
    root_score: Estimate
    root_sr: float | None
    """Share of scored trials whose root score is above the threshold."""
    root_sr_ci95: tuple[float, float] | None
    root_sr_at: dict[str, float | None]
    """Root SR at k = 5..9 (GTA-2, section 6.4.1)."""
    pass_at_k: dict[str, Estimate]
    """Any of k repetitions succeeds; for each k from 1 to the repetitions."""
    pass_hat_k: dict[str, Estimate]
    """All k repetitions succeed (pass^k)."""
    leaf_sr: float | None
    tool_sr: float | None
    coverage: float | None
    """Mean share of tree weight that was scored."""
    capability_sr: dict[str, float | None]
    category: dict[str, Estimate]
    """Root score by category."""
    deliverable_type: dict[str, Estimate]
    """Leaf score by type of the deliverable looked at."""
    tier: dict[str, Estimate]
    """Root score by tier."""
    cost_usd: float | None
    """Of the agent's model and of those that its tools asked; None: unknown."""
    judge_cost_usd: float | None = 0.0
    """Beside it: what the judge was paid for these trials; None: unknown."""
    wall_s: float | None
    """Summed over trials; None, like turns and tokens: unknown of one of them."""
    turns: float | None
    """Mean per trial."""
    tokens: int | None
    score_per_usd: float | None
    failures: dict[str, dict[str, int]]
    """`stage`, `type`, `level` -> label -> trials."""
    error_causes: dict[str, int] = Field(default_factory=dict)
    steps: StepAccuracy | None = None
    """Of an agent that predicts steps, which leaves nothing for checkpoints to score."""


class RefinementGain(Value):
    """Change from round `round - 1` to `round` over the trials that were refined."""

    agent: str
    round: int
    feedback: str
    trials: int
    errors: int
    mean_before: float | None
    mean_after: float | None
    gain: Estimate
    """Mean of the paired differences of root scores."""


class AgentComparison(Value):
    """Two agents over the tasks that both were scored on, paired by task."""

    first: str
    second: str
    tasks: int
    difference: Estimate
    """Mean root score of `second` minus that of `first`."""
    p_value: float | None
    """Two-sided sign-flip permutation test; None below two common tasks."""


class RunSummary(Value):
    """Everything that `results` reports about a run."""

    run: RunHeader
    agents: tuple[AgentSummary, ...]
    refinement: tuple[RefinementGain, ...]
    judging: JudgeEffort = JudgeEffort()
    """What the judge was paid for, over all rounds."""
    comparisons: tuple[AgentComparison, ...] = ()
    """Every pair of agents, in the order of the run's configuration."""
    gates: tuple[GateResult, ...] = ()
    stages: tuple[StageReport, ...] = ()
