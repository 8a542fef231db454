"""Runs, their configuration, and the trials they consist of."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from taskdata.schema.agent import AgentSpec
from taskdata.schema.arms import Arm, Arms, RefineIn
from taskdata.schema.base import RelativePath, Sha256, Value
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.deadlines import NIGHT_DEADLINE, Deadlines
from taskdata.schema.diagnosis import Diagnosis
from taskdata.schema.effort import CallEffort
from taskdata.schema.judging import JudgeSettings
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.panel import JudgeSpec, NamedJudge, PanelRule
from taskdata.schema.scores import TrialScore
from taskdata.schema.self_verification import SelfVerification
from taskdata.schema.success import SuccessRule, TrialVerdict
from taskdata.schema.tool_backends import NamedModel, ToolBackends
from taskdata.schema.tool_use import ToolUse
from taskdata.schema.transcript import Ending, ShownFile, Usage

SandboxName = Literal["bubblewrap", "docker"]
Replies = Literal["ask", "keep", "replay"]
Purpose = Literal["evaluation", "proof", "confirmation", "rescoring"]


class RunConfig(ToolBackends):
    """One evaluation: bank release x agents x repetitions x refinement rounds."""

    bank: str = "starter"
    """A bundled bank, a folder of task folders, or a release such as `office@2`.

    `office@latest` is the newest release when the run begins; a run is stored with its version.
    """
    tasks: tuple[str, ...] = ()
    """Only these task ids; empty: all."""
    sample: int | None = Field(default=None, ge=1)
    """Only so many tasks of each category, always the same ones; empty: all."""
    agents: tuple[AgentSpec, ...] = Field(min_length=1)
    """Names such as `reference` or `react:openai/gpt-5.2`, or labels of `[[run.agents]]`."""
    repetitions: int = Field(default=1, ge=1, le=64)
    """Trials of each agent on each task."""
    refinement_rounds: int = Field(default=1, ge=0, le=8)
    """New attempts after the first in each arm, each with feedback on the one before."""
    feedback: Arms = ("checkpoint",)
    """The arms, which start from the same first attempt and differ in their feedback alone.

    `none` gives no feedback, `coarse` says that it is not right yet, `checkpoint` names the
    requirements that are not met, and `diagnosis` says how it failed; in `critic` and `self` a
    critic, or the agent's own model, writes it, and is shown the failure taxonomy in
    `critic_taxonomy` and `self_taxonomy`.
    """
    refine_in: RefineIn = "afresh"
    """`workspace`: an attempt goes on with the files that the one before left in the output folder.
    `afresh`: that folder is empty again, and those files are beside the input files.
    """
    critic: NamedModel | None = None
    """`provider/model` that writes the feedback of the arms `critic` and `critic_taxonomy`."""
    critic_base_url: str | None = None
    """Endpoint of `critic`."""
    sandbox: SandboxName = "bubblewrap"
    """Where agents act."""
    judge: NamedModel | None = None
    """`provider/model` that scores what needs judgement; empty: that stays unscored."""
    judge_base_url: str | None = None
    """Endpoint of `judge`, and of those of `judges` of provider `compatible` that name none."""
    judges: tuple[NamedJudge, ...] = ()
    """Several models instead, a panel: each scores every rubric leaf by itself."""
    panel: PanelRule = "median"
    """How the scores of a panel become one: `mean`, `median`, or `majority`, the mean of those
    judges who are on the same side of the threshold as most."""
    judging: JudgeSettings = JudgeSettings()
    """What the judge takes and how much it is shown: the `[judge]` table."""
    user: NamedModel | None = None
    """`provider/model` that plays the user in talks; without it, talks cannot run."""
    user_base_url: str | None = None
    """Endpoint of `user`."""
    labeller: NamedModel | None = None
    """`provider/model` that adds the labels that rules leave open; empty: rules alone."""
    labeller_base_url: str | None = None
    """Endpoint of `labeller`."""
    threshold: float = Field(default=7.0, ge=0, lt=10)
    """A trial succeeds when its root score is above this (GTA-2, section 6.4.1)."""
    min_coverage: float = Field(default=0.5, ge=0, le=1)
    """No trial succeeds of whose checkpoint tree less than this share of the weight was scored."""
    sentence_encoder: str | None = None
    """What compares meanings in the metrics of the atomic tier, such as `all-mpnet-base-v2`.

    A folder, or an id of the Hugging Face hub, too; empty: MiniLM if the extra `similarity` is
    installed, else nothing does.
    """
    page_pictures: bool = True
    """Whether pages of PDF and office files are drawn, so that the dashboard shows them."""
    workers: int = Field(default=2, ge=1)
    """Dask worker processes."""
    trials_per_worker: int = Field(default=2, ge=1)
    """Trials in flight at once in one worker."""
    limits: dict[str, Ceilings] = Field(default_factory=dict)
    """Limits by provider, such as `openai`, that all workers keep together."""
    deadlines: Deadlines = Deadlines()
    """How long a trial may take beside its agent's `budget.max_seconds`."""
    max_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """What the models of agents, users, tools, judge, critic and labeller may cost together; empty:
    no limit."""
    replies: Replies = "ask"
    """`keep`: equal questions are asked once, whatever the run; `replay`: nothing is asked."""
    purpose: Purpose = "evaluation"
    """`proof`: plays solutions to prove tasks; it evaluates nobody and is not listed.
    `confirmation`: repeats what stood out in another run; it is not listed either.
    `rescoring`: scores what another run's agents left once more; no agent works in it, and it is
    no night."""
    confirms: str | None = None
    """Of a confirmation: the run that it repeats trials of."""
    rescores: str | None = None
    """Of a rescoring: the run whose trials it scores again."""
    keeps_verdicts: bool = False
    """Of a rescoring: whether what its source asked the same judge is not asked again."""
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Agent -> the only task ids that it is given; an agent that is not named is given all."""

    @model_validator(mode="before")
    @classmethod
    def _several_judges(cls, fields: Any) -> Any:
        """Take a list that was given as `judge` for `judges`."""
        if not isinstance(fields, dict) or not isinstance(fields.get("judge"), list | tuple):
            return fields
        if fields.get("judges"):
            raise ValueError("judge and judges are both lists; give one of them")
        listed = list(fields["judge"])
        alone = {"judge": listed[0]} if len(listed) == 1 else {"judge": None, "judges": listed}
        return fields | alone

    @model_validator(mode="after")
    def _judged_by_one_or_several(self) -> Self:
        if self.judge is not None and self.judges:
            raise ValueError("judge and judges are both given; a panel is judges alone")
        known = [(judge.model, judge.base_url) for judge in self.every_judge]
        if len(set(known)) != len(known):
            raise ValueError(f"a judge is named twice: {self.judge_name}")
        return self

    @field_validator("agents")
    @classmethod
    def _distinct(cls, agents: tuple[AgentSpec, ...]) -> tuple[AgentSpec, ...]:
        names = [a.name for a in agents]
        if len(set(names)) != len(names):
            raise ValueError(f"an agent is named twice: {sorted(names)}")
        return agents

    @property
    def plays_back(self) -> bool:
        """Whether nobody is asked, and only kept replies are played back."""
        return self.replies == "replay"

    @property
    def every_judge(self) -> tuple[JudgeSpec, ...]:
        """The judges that each rubric leaf is shown to, and where each is asked."""
        if self.judge is not None:
            return (JudgeSpec(model=self.judge, base_url=self.judge_base_url),)
        return tuple(
            judge.model_copy(update={"base_url": self.judge_base_url})
            if judge.base_url is None and judge.model.provider == "compatible"
            else judge
            for judge in self.judges
        )

    @property
    def judge_name(self) -> str | None:
        """What scores rubric leaves, as its scores are told apart by it; None: nothing does.

        The model and the profile, or the rule of a panel and those of all its judges.
        """
        names = [f"{judge.model}{self.judging.qualifier()}" for judge in self.every_judge]
        if len(names) < 2:
            return names[0] if names else None
        return f"{self.panel} of {', '.join(names)}"

    @property
    def working(self) -> tuple[AgentSpec, ...]:
        """The agents that work in the run: all of them, and none in a rescoring."""
        return () if self.rescores else self.agents

    @property
    def success(self) -> SuccessRule:
        """What a trial of the run needs to succeed."""
        return SuccessRule(threshold=self.threshold, min_coverage=self.min_coverage)

    def agent(self, name: str) -> AgentSpec:
        """Return the agent of that name; KeyError if the run has none."""
        return {a.name: a for a in self.agents}[name]


class RunStatus(StrEnum):
    """Where a run is."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    REMOVING = "removing"
    """A prune has begun to remove it; nobody finds it any more."""


class Run(Value):
    """One evaluation as stored."""

    id: str
    status: RunStatus
    config: RunConfig
    release_hash: Sha256
    code_version: str
    created_at: datetime
    finished_at: datetime | None = None
    error: str | None = None
    dashboard: str | None = None
    """Path of the published dashboard, once there is one."""
    flow_run_id: str | None = None
    """Prefect's id of the flow run that started it; None: a command did."""


class RunFigures(Value):
    """The few numbers by which runs are told apart in a list."""

    scores: dict[str, float] = Field(default_factory=dict)
    """Mean root score of first attempts by agent, of those that have one."""
    errors: int = 0
    """Trials that are no score for a reason outside their agent."""
    cost_usd: float | None = 0.0
    """Of all calls that were paid for; None: a price is unknown."""


class Trial(Value):
    """One agent on one task, one repetition, one arm and round of refinement: what is asked."""

    id: str
    run_id: str
    agent: str
    task_id: str
    task_hash: Sha256
    tier: str
    category: str
    repetition: int = Field(ge=0)
    round: int = Field(ge=0)
    arm: Arm | Literal[""] = ""
    """Which feedback it gets; empty in round 0, from which all arms start."""
    parent_trial_id: str | None = None
    """The attempt this one refines."""
    feedback: str | None = None
    """The text; None in round 0 and in the arm `none`, and until a critic has written it."""

    @staticmethod
    def make_id(
        run_id: str, agent: str, task_id: str, repetition: int, round_: int, arm: str = ""
    ) -> str:
        """Return the trial's id: the same question always has the same id.

        Refined trials of versions without arms have ids without the arm, and keep them.
        """
        parts = [run_id, agent, task_id, str(repetition), str(round_), *([arm] if arm else [])]
        key = "\n".join(parts)
        return "t" + hashlib.sha256(key.encode()).hexdigest()[:15]


class Deliverable(Value):
    """A file collected from the agent's output folder; its bytes are in the artifact store."""

    name: RelativePath
    sha256: Sha256
    size_bytes: int = Field(ge=0)


class OutcomeStatus(StrEnum):
    """Whether the agent had its chance."""

    FINISHED = "finished"
    INFRASTRUCTURE = "infrastructure"
    """It failed for a reason outside the agent; not a score of 0."""


class TrialOutcome(Value):
    """What happened in one execution attempt of a trial."""

    trial_id: str
    attempt: int = Field(ge=1)
    status: OutcomeStatus
    ending: Ending | None = None
    error: str | None = None
    """Cause of an infrastructure error, one line."""
    error_detail: str | None = None
    """Traceback, for us."""
    final_answer: str = ""
    transcript_sha256: Sha256 | None = None
    deliverables: tuple[Deliverable, ...] = ()
    rejected_files: tuple[str, ...] = ()
    """What collection refused, with reasons."""
    usage: Usage | None = Usage()
    """Of the agent's own model; None: unknown, as the effort of imported results may be."""
    cost_usd: float | None = None
    """Of the agent's model and of those that its tools asked; None: a price is unknown."""
    wall_seconds: float | None = Field(default=0.0, ge=0)
    turns: int | None = Field(default=0, ge=0)
    tool_calls: int | None = Field(default=0, ge=0)
    tool_errors: int | None = Field(default=0, ge=0)
    tool_uses: tuple[ToolUse, ...] | None = None
    """By tool; None: unknown, as of programs, imported results and outcomes of earlier versions."""
    tool_pictures: tuple[ShownFile, ...] = ()
    """The pictures of its tools' results, each content once; the transcript refers to them."""
    self_verification: SelfVerification | None = None
    """Of the pictures and documents that it delivered; None: unknown, or it delivered none."""
    model_id: str | None = None
    """As reported by the provider."""
    sandbox: str
    sandbox_image: str | None = None
    """Digest of the image that its programs saw; None without an image, or without a sandbox."""
    limits: SandboxLimits | None = None
    """Asked and enforced; None of trials that failed before their task was known."""
    prompt_version: str | None = None
    code_version: str
    started_at: datetime
    finished_at: datetime


class TrialResult(Value):
    """Everything known about one trial, joined."""

    trial: Trial
    outcome: TrialOutcome | None = None
    """The finished outcome, else the latest infrastructure error, else None: still due."""
    score: TrialScore | None = None
    scoring_error: str | None = None
    """Why scoring itself failed, when it did."""
    judging: CallEffort = CallEffort()
    """What was paid for its score; nothing where kept replies were enough."""
    talking: CallEffort = CallEffort()
    """What was paid for its simulated user, which is no part of the agent's cost."""
    labelling: CallEffort = CallEffort()
    """What was paid for the labels that a model gave; it is no part of the agent's cost."""
    critique: CallEffort = CallEffort()
    """What was paid for its feedback, in arms where a model writes it; no part of its cost."""
    diagnosis: Diagnosis | None = None

    @property
    def root_score(self) -> float | None:
        """Root score 0-10 that the trial is credited with; None: unscored or not finished.

        It is the lower bound: what a verifier was asked about and gave no score on counts 0, so
        that nobody gains by keeping a verdict from being given.
        """
        return None if self.score is None else self.score.root.lower

    @property
    def root_score_upper(self) -> float | None:
        """What the root score would be if all verdicts that are missing were full scores."""
        return None if self.score is None else self.score.root.upper

    def verdict(self, rule: SuccessRule) -> TrialVerdict | None:
        """Return what the trial counts for; None: no verifier was asked about anything in it."""
        if self.score is None or self.root_score is None:
            return None
        return rule.verdict(self.score.root)

    @property
    def is_infrastructure_error(self) -> bool:
        """Whether it failed for a reason outside the agent."""
        failed = self.outcome is not None and self.outcome.status is OutcomeStatus.INFRASTRUCTURE
        return failed or self.scoring_error is not None

    @property
    def is_left_out(self) -> bool:
        """Whether it was not done, or not scored, because the night's own deadline had passed."""
        cause = (self.outcome.error if self.outcome else None) or self.scoring_error or ""
        return self.is_infrastructure_error and NIGHT_DEADLINE in cause


class StageReport(Value):
    """What one pass of a stage did; counts are trials unless the stage says otherwise."""

    stage: str
    run_id: str
    round: int = 0
    due: int = Field(ge=0)
    done: int = Field(ge=0)
    errors: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    note: str = ""
