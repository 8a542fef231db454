"""The construction of tasks: a refresh, its candidates, and every step that made them.

A candidate is a task in the making. What happens to it is a row per step: the verdict with its
reasons, the draft as it stood afterwards, and the prompt, model and cost behind it (GTA-2, 3.3.4).
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, field_serializer, field_validator, model_validator

from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import RelativePath, Sha256, Slug, Value
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.planning import PlanningCase
from taskdata.schema.review import Checklist
from taskdata.schema.run import SandboxName
from taskdata.schema.safety import SafetyRules
from taskdata.schema.seed import LanguageCode
from taskdata.schema.task import (
    Answer,
    Capability,
    Category,
    DeliverableSpec,
    InputFile,
    Provenance,
    ReferenceSolution,
    Task,
    Tier,
)
from taskdata.schema.transcript import Usage

PROMPT_TOKENS = 8_000
"""Most tokens of a prompt, if nothing else is configured."""

ReviewMode = Literal["defer", "wait", "auto"]


class SpendingLimits(Value):
    """What all model calls of a refresh together may use; the first limit reached stops them."""

    max_calls: int = Field(default=2_000, ge=0)
    max_tokens: int = Field(default=20_000_000, ge=0)
    """Input plus output."""
    max_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Empty: no limit in money. With one, a model of unknown price is refused."""


class CaseCounts(Value):
    """How many planning cases of each setting a refresh makes, at most."""

    holistic: int = Field(default=30, ge=0, le=10_000)
    step_wise: int = Field(default=30, ge=0, le=10_000)
    extraneous: int = Field(default=30, ge=0, le=10_000)
    broken: int = Field(default=10, ge=0, le=10_000)
    unsolvable: int = Field(default=12, ge=0, le=10_000)
    efficiency: int = Field(default=8, ge=0, le=10_000)


class RefreshConfig(Value):
    """How a bank is refreshed."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    bank: Slug = "refreshed"
    """Name of the bank that is released."""
    base: str | None = "starter"
    """Bank whose tasks are exemplars and stay in the release; None, or `none`: no such bank."""
    model: ModelSpec | None = None
    """`provider/model` that writes the tasks; only planning cases can do without."""
    base_url: str | None = None
    limits: SpendingLimits = SpendingLimits()
    seeds: tuple[str, ...] = ()
    """Only these seed ids; empty: every seed that no refresh of this bank has used."""
    max_asks: int = Field(default=3, ge=1, le=10)
    """Times a model is asked for one structured answer."""
    max_rewrites: int = Field(default=3, ge=0, le=10)
    """Times a draft that breaks a rule is rewritten."""
    require_coverage: bool = True
    """Whether a tree without a leaf for an explicit requirement of the query is rewritten."""
    max_reply_tokens: int = Field(default=8_192, ge=16)
    max_prompt_tokens: int = Field(default=PROMPT_TOKENS, ge=2_000)
    """Most tokens of a prompt, as estimated; what is left out of a longer one is said in it."""
    small_steps: bool | None = None
    """Whether a task is drafted before its tree, which is asked for leaf by leaf; empty: only by a
    `local` model."""
    exemplars: int = Field(default=2, ge=1, le=5)
    """Tasks of the base that the model is shown for each that it writes."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Model calls in flight at once."""
    tools: Literal["all", "base"] = "all"
    """Which tools the tasks may use: every one there is, or those that tasks of the base use."""
    tool_floor: float = Field(default=0.05, ge=0, le=1)
    """A tool used by a smaller share of tasks is under-represented."""
    max_augmentations: int = Field(default=3, ge=0)
    """New tasks asked for on behalf of under-represented tools."""
    expansions: int = Field(default=0, ge=0)
    """Atomic tasks made from the base's atomic exemplars."""
    plan_cases: str | None = None
    """Bank of whose finished trials and references planning cases are made, instead of tasks of
    seeds."""
    plan_words: str | None = None
    """Folder of what people wrote for planning cases; a model is asked for the rest."""
    plan_counts: CaseCounts = CaseCounts()
    """The most planning cases of each setting."""
    draft_references: bool = False
    """Whether a model drafts reference solutions; one counts only if the checks pass."""
    reference_model: ModelSpec | None = None
    """A stronger `provider/model` that drafts the reference solutions; empty: `model` does."""
    reference_base_url: str | None = None
    """Endpoint of the `reference_model`."""
    draft_twice: bool = False
    """Whether a second solution is drafted without sight of the tree, to confirm the reference."""
    review: ReviewMode = "defer"
    """`defer`: end, the CLI decides later; `wait`: pause for the form; `auto`: approve all left."""
    reviewers: int = Field(default=1, ge=1, le=5)
    """Different people who must give the same verdict about a task before it counts."""
    sandbox: SandboxName = "bubblewrap"
    """Where tasks are proved."""
    language: LanguageCode | None = None
    """Only seeds in this language, such as `de`; None: in any."""
    safety: SafetyRules = SafetyRules()
    """What becomes of personal data and of harm; the `[safety]` table."""

    @property
    def author(self) -> tuple[ModelSpec, str | None]:
        """The model that writes the tasks and their trees, and its endpoint.

        Raises:
            Misuse: if the refresh has none.
        """
        if self.model is None:
            raise Misuse("this refresh asks no model; start another one with --model")
        return self.model, self.base_url

    @property
    def solver(self) -> tuple[ModelSpec, str | None]:
        """The model that drafts reference solutions, and its endpoint."""
        if self.reference_model is None:
            return self.author
        return self.reference_model, self.reference_base_url

    @property
    def drafts_in_steps(self) -> bool:
        """Whether a task is drafted before its tree, which is asked for leaf by leaf."""
        if self.small_steps is None:
            return self.model is not None and self.model.provider == "local"
        return self.small_steps

    @property
    def models(self) -> tuple[tuple[ModelSpec, str | None], ...]:
        """Every model that the refresh asks, with its endpoint."""
        if self.model is None:
            return ()
        drafts = self.draft_references or self.draft_twice
        return tuple(dict.fromkeys((self.author, self.solver) if drafts else (self.author,)))

    @model_validator(mode="after")
    def _has_an_author(self) -> Self:
        if self.model is None and self.plan_cases is None:
            raise ValueError("a refresh needs a model that writes tasks")
        if self.plan_words is not None and self.plan_cases is None:
            raise ValueError("plan_words are for planning cases: give plan_cases, too")
        return self

    @model_validator(mode="after")
    def _reviewed(self) -> Self:
        if self.review == "auto" and self.reviewers > 1:
            raise ValueError(
                f"review `auto` approves without a look, and reviewers is {self.reviewers}; "
                "leave one of them out"
            )
        return self

    @field_validator("base")
    @classmethod
    def _named(cls, base: str | None) -> str | None:
        # TOML knows no null.
        return None if base == "none" else base

    @field_serializer("base")
    def _in_a_word(self, base: str | None) -> str:
        # A null among changes to a configuration means: as it was.
        return base or "none"


class RefreshStatus(StrEnum):
    """Where a refresh is."""

    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    RELEASED = "released"
    ENDED = "ended"
    """Nothing was approved, so nothing was released."""
    FAILED = "failed"


class Refresh(Value):
    """One pass from seeds to a release."""

    id: str
    status: RefreshStatus
    config: RefreshConfig
    code_version: str
    created_at: datetime
    finished_at: datetime | None = None
    error: str | None = None
    release_hash: Sha256 | None = None
    flow_run_id: str | None = None
    """Prefect's id of the flow run that started it; None: a command did."""


class Origin(StrEnum):
    """Why a candidate exists."""

    SEED = "seed"
    AUGMENTATION = "augmentation"
    """Asked for on behalf of an under-represented tool."""
    EXPANSION = "expansion"
    """Made from an atomic exemplar (GTA, appendix C.2)."""
    PLAN_CASE = "plan_case"
    """Cut from a trajectory, or a variation of such a case (APB, appendix B)."""


class Construction(StrEnum):
    """The stages a candidate goes through, in order."""

    GENERATE = "generate"
    CLASSIFY = "classify"
    REWRITE = "rewrite"
    VALIDATE = "validate"
    CHECKPOINTS = "checkpoints"
    PROVE = "prove"
    REVIEW = "review"


class CandidateStatus(StrEnum):
    """What has become of a candidate."""

    OPEN = "open"
    DELETED = "deleted"
    """The classifier found it out of scope."""
    QUARANTINED = "quarantined"
    APPROVED = "approved"
    REJECTED = "rejected"
    RELEASED = "released"


class Candidate(Value):
    """A task in the making."""

    id: str
    refresh_id: str
    task_id: Slug
    tier: Tier
    origin: Origin
    seed_id: str | None = None
    exemplar: Sha256 | None = None
    """Hash of the task it varies, of an expansion or augmentation."""
    aim: str = ""
    """What was asked for beyond the seed: the tool to use, the way to vary."""
    stage: Construction
    """The stage that is due next."""
    status: CandidateStatus = CandidateStatus.OPEN
    reason: str = ""
    """Why it is where it is, when it is not open."""


class TaskDraft(Value):
    """A task as a model writes it: no ids, no hashes; files by the names of the attachments."""

    title: str = Field(min_length=1, max_length=200)
    query: str = Field(min_length=1, max_length=20_000)
    category: Category
    capabilities: tuple[Capability, ...] = Field(min_length=1, max_length=4)
    human_minutes: int = Field(default=30, ge=1, le=10_000)
    files: tuple[RelativePath, ...] = Field(default=(), max_length=50)
    deliverables: tuple[DeliverableSpec, ...] = Field(default=(), max_length=20)
    tools: tuple[str, ...] = Field(min_length=1, max_length=60)
    checkpoints: Checkpoint
    answer: Answer | None = None
    reference: ReferenceSolution | None = None
    planning: PlanningCase | None = None
    """Of a planning case."""

    def as_task(
        self,
        task_id: str,
        tier: Tier,
        available: Mapping[str, InputFile],
        provenance: Provenance,
    ) -> Task:
        """Return the task that this draft describes.

        Raises:
            BadTaskData: if it names a file that is not among `available` (by path).
            ValidationError: if the whole does not fit together.
        """
        missing = [name for name in self.files if name not in available]
        if missing:
            raise BadTaskData(
                f"task {task_id!r}: field files: {missing[0]!r} is not among the attachments "
                f"{sorted(available)}"
            )
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Task.model_validate(
            fields
            | {
                "id": task_id,
                "tier": tier,
                "files": tuple(available[name] for name in self.files),
                "provenance": provenance,
            }
        )


class ConstructionStep(Value):
    """One step that a candidate took: verdict, draft afterwards, and what made it."""

    candidate_id: str
    stage: Construction
    attempt: int = Field(ge=1)
    verdict: str = Field(min_length=1)
    """What the stage said: drafted, augmentation, rewritten, clean, violations, proven, ..."""
    reasons: tuple[str, ...] = ()
    draft: TaskDraft | None = None
    """The draft as it stands after this step; None: unchanged."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Counts and findings of the stage, such as what a rewrite changed."""
    prompt_version: str | None = None
    model_id: str | None = None
    """As reported by the provider."""
    calls: int = Field(default=0, ge=0)
    usage: Usage = Usage()
    cost_usd: float | None = None
    """Of this step's calls; None where one price is unknown, 0 without calls."""
    code_version: str
    at: datetime


class ReviewDecision(Value):
    """What a person decided about a candidate."""

    candidate_id: str
    decision: Literal["approve", "reject", "send_back", "edit"]
    reviewer: str = Field(min_length=1, max_length=200)
    comment: str = Field(default="", max_length=10_000)
    checklist: Checklist = ()
    draft: TaskDraft | None = None
    """Of an edit: the draft from now on."""
    at: datetime
