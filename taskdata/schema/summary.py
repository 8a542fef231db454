"""The numbers of a run: what `results --json` prints and the dashboard draws."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from taskdata.schema.agent_detail import AgentDetail
from taskdata.schema.base import Value
from taskdata.schema.effort import CallEffort
from taskdata.schema.estimate import Estimate
from taskdata.schema.gate import GateResult
from taskdata.schema.planning_summary import PlanningSummary
from taskdata.schema.run import StageReport
from taskdata.schema.success import SuccessRule
from taskdata.schema.withdrawal import WithdrawnTask


class Missing(Value):
    """What an agent's numbers leave open, because a verifier was asked and gave no score.

    Every number beside it counts what is missing as 0; `..._upper` is what it would be at most.
    """

    leaves: int = 0
    """Leaves that were asked about and have no score."""
    trials: int = 0
    """Trials whose success depends on them; they count as not succeeded."""
    root_score_upper: float | None = None
    """The mean root score if all that is missing were full scores."""
    root_sr_upper: float | None = None
    """Root SR if every such trial had succeeded."""


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
    min_coverage: float = 0.5
    judge: str | None
    user: str | None = None
    """The model that plays the user in talks."""
    labeller: str | None = None
    """The model that labels what rules leave open."""
    rescores: str | None = None
    """The run whose trials were scored again; None: its agents worked in this one."""
    sandbox: str
    repetitions: int
    refinement_rounds: int
    feedback: tuple[str, ...] = ()
    """The arms of the refinement rounds."""
    tasks: int
    dashboard: str | None = None
    error: str | None = None

    @property
    def success(self) -> SuccessRule:
        """What a trial of the run needs to succeed."""
        return SuccessRule(threshold=self.threshold, min_coverage=self.min_coverage)


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
    """Of these, subjective ones where nothing compared meanings."""
    encoder: str | None = None
    """The sentence encoder behind scores of subjective answers; None: none had a part."""
    predicted_calls: int
    predicted_errors: int


class ToolSelection(Value):
    """Which tools of one category an agent chose, over all its trials."""

    f1: float
    """As published: can pass 1, and is 0 where the references have no such call."""
    f1_ci95: tuple[float, float] | None = None
    """From a bootstrap over tasks; None below five of them, or without such a reference."""
    f1_mended: float | None
    """Calls matched one to one, faulty ones left out; None: no such call was made or asked for."""
    f1_mended_ci95: tuple[float, float] | None = None
    reference: int
    """Calls in the references."""
    predicted: int
    """Calls by the agent."""


class EndToEndAccuracy(Value):
    """Traces of an acting agent against references, over its trials of the atomic tier.

    The metrics of GTA, section 4.1 and table 3, as shares (0-1). Their `n` are tasks' trials.
    """

    trials: int
    tool_selection: dict[str, ToolSelection]
    """P-, O-, L- and C-F1, by category of tools."""
    ans_acc: Estimate
    """AnsAcc: answers as right as the published rules find them."""
    ans_acc_mended: Estimate
    ans_acc_w_imggen: Estimate
    """AnsAcc with image generation: arguments of calls that make images count as answers."""
    answers_unscored: int
    """Trials where meanings had to be compared, and nothing did."""
    tool_calls: int
    tool_errors: int
    encoder: str | None = None
    """The sentence encoder behind similarities; None: none had a part."""


class AgentSummary(Value):
    """One agent's first attempts (round 0). Shares are 0-1; None: nothing to measure."""

    agent: str
    is_control: bool = False
    """Whether the agent only shows that the tasks are sound, as `reference` and `nop` do."""
    trials: int
    """Trials planned."""
    scored: int
    """Trials with a root score: the denominator of every score here."""
    undecided: int = 0
    """Of these, trials that the run has too few verifiers for (`min_coverage`): out of every
    success rate, so that the denominator there is `scored - undecided`."""
    errors: int
    """Infrastructure errors: beside the scores, never inside them."""
    pending: int
    """Neither finished nor failed yet."""
    root_score: Estimate
    missing: Missing = Missing()
    root_sr: float | None
    """Share of decided trials that succeeded."""
    root_sr_ci95: tuple[float, float] | None
    root_sr_at: dict[str, float | None]
    """Root SR at k = 5..9 (GTA-2, section 6.4.1)."""
    pass_at_k: dict[str, Estimate]
    """Any of k repetitions succeeds; for each k from 1 to the repetitions, over decided trials."""
    pass_hat_k: dict[str, Estimate]
    """All k repetitions succeed (pass^k)."""
    leaf_sr: float | None
    """Share of leaves above the threshold, of all that a verifier was asked about."""
    tool_sr: float | None
    coverage: float | None
    """Mean share of tree weight that was scored."""
    capability_sr: dict[str, float | None]
    category: dict[str, Estimate]
    """Root score by category; without the interval where that would span half of the scale."""
    category_pooled: dict[str, Estimate] = Field(default_factory=dict)
    """The same, estimated from all categories together; empty where tasks are too few for it."""
    deliverable_type: dict[str, Estimate]
    """Leaf score by type of the deliverable looked at."""
    tier: dict[str, Estimate]
    """Root score by tier."""
    cost_usd: float | None
    """Of the agent's model and of those that its tools asked; None: unknown."""
    judge_cost_usd: float | None = 0.0
    """Beside it: what the judge was paid for these trials; None: unknown."""
    user_cost_usd: float | None = 0.0
    """Cost of the simulated user, which `cost_usd` does not include; None: unknown."""
    labeller_cost_usd: float | None = 0.0
    """Cost of the labeller, which `cost_usd` does not include; None: unknown."""
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
    end_to_end: EndToEndAccuracy | None = None
    """Of an agent that acted on tasks of the atomic tier."""
    detail: AgentDetail | None = None


class GainOverNone(Value):
    """An arm against the plain second attempt, over trials that both have tried again."""

    difference: Estimate
    """Mean of the paired differences in root score: the least that the feedback gained."""
    p_value: float | None
    """Two-sided sign-flip permutation test, by task; None below two tasks."""
    p_holm: float | None
    """Corrected for all comparisons with `none` in the run (Holm 1979)."""


class Regression(Value):
    """A leaf that scores less after a round than in the first attempt."""

    task_id: str
    leaf_id: str
    trial_id: str
    """The attempt in which it scores less."""
    first_trial_id: str
    before: float
    after: float


class Regressions(Value):
    """The leaves that got worse, of those that have a score in both attempts."""

    worse: int
    leaves: int
    share: Estimate
    """`worse` of `leaves` (0-1)."""
    top: tuple[Regression, ...] = ()
    """The largest losses, the largest first."""


class WholeBank(Value):
    """All first attempts of an agent with a score; who was not tried again keeps that score.

    It stands beside the first-attempt score and never in its place.
    """

    trials: int
    refined: int
    """Of these, trials that the arm has another score for."""
    first: float | None
    """Mean root score of the first attempts, as everywhere; None without any score."""
    after: Estimate
    success_first: Estimate
    """Share (0-1) of decided trials that succeeded at once."""
    success_after: Estimate
    gain: Estimate
    """Mean of the paired differences; 0 for each trial that was not tried again."""


class RefinementGain(Value):
    """What an arm has changed by the end of a round, over the trials that it tried again.

    These are the same trials in every round: where an arm ended before the round, because an
    attempt passed or the rule of stopping said so, its last attempt counts. An attempt that was
    lost, or is still due, leaves its trial out of the round.
    """

    agent: str
    arm: str
    round: int
    trials: int
    """Trials that the arm has tried again at least once."""
    attempts: int
    """Of these, attempts planned in this round."""
    errors: int
    """Of these, attempts lost to infrastructure errors."""
    mean_before: float | None
    """Of first attempts: of the upper bounds, so that a verdict that was missing is no gain."""
    mean_after: float | None
    """Of the lower bounds."""
    relative: float | None
    """`mean_after` over `mean_before`, minus 1 (GTA-2, table 15); None where that was 0."""
    success_before: Estimate
    """Share (0-1) of decided trials."""
    success_after: Estimate
    gain: Estimate
    """Mean of the paired differences from the first attempts: the least that was gained."""
    over_none: GainOverNone | None
    """None: of the arm `none` itself, and where the run has no such arm."""
    cost_usd: float | None
    """Of the finished attempts of this round and of models that wrote their feedback; None: a
    price is unknown, or nothing has finished."""
    cost_per_point_usd: float | None
    """What the arm cost up to this round, for each point of root score that it gained."""
    no_cost_per_point: Literal["no gain", "price unknown"] | None
    """Why there is none."""
    regressions: Regressions
    whole_bank: WholeBank


class AgentComparison(Value):
    """Two agents over the tasks that both were scored on, paired by task."""

    first: str
    second: str
    tasks: int
    difference: Estimate
    """Mean root score of `second` minus that of `first`."""
    difference_range: tuple[float, float] | None = None
    """How far verdicts that are missing leave the difference open; None where none is."""
    p_value: float | None
    """Two-sided sign-flip permutation test; None below two common tasks."""


class RunSummary(Value):
    """Everything that `results` reports about a run."""

    run: RunHeader
    agents: tuple[AgentSummary, ...]
    refinement: tuple[RefinementGain, ...]
    """One for each agent, arm and round; no first-attempt number includes any of it."""
    judge_notice: str | None = None
    """What the judge of the run has not shown yet: it has no card, or falls short of minima."""
    unevaluated: int = 0
    """Trials of any round without a score: lost to infrastructure errors, or still due."""
    judging: CallEffort = CallEffort()
    """What the judge was paid for, over all rounds."""
    talking: CallEffort = CallEffort()
    """The paid calls of the simulated user, over all rounds."""
    labelling: CallEffort = CallEffort()
    """The paid calls of the labeller, over all rounds."""
    critique: CallEffort = CallEffort()
    """The paid calls that wrote feedback, of critics and of agents' own models, over all rounds."""
    disagreement: Estimate | None = None
    """Of a panel: how far its judges' scores of a leaf are apart, in points of 10, the highest
    minus the lowest; over leaves of first attempts with at least two verdicts. None: no such leaf.
    """
    comparisons: tuple[AgentComparison, ...] = ()
    """Every pair of agents, in the order of the run's configuration."""
    gates: tuple[GateResult, ...] = ()
    withdrawn: tuple[WithdrawnTask, ...] = ()
    """Tasks of the release that were withdrawn before the run or since."""
    stages: tuple[StageReport, ...] = ()
    planning: PlanningSummary | None = None
    """The tables about plans; None: no agent was asked for one."""
