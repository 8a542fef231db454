"""A benchmark-ready task, and the part of it an agent may see."""

from collections import Counter
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from taskdata.schema.arms import EarlierAttempt
from taskdata.schema.asked_again import FOLDER as ASKED_AGAIN
from taskdata.schema.base import GrowingValue, RelativePath, Sha256, Slug, Value
from taskdata.schema.checkpoint import (
    FOREIGN_VERDICTS,
    AskedAgain,
    Checkpoint,
    Judge,
    PlanGrade,
    ScriptCheck,
    checked_by_code,
)
from taskdata.schema.deliverable import DeliverableSpec, DeliverableType
from taskdata.schema.environment import (
    INITIAL,
    LAUNCH_TIME,
    Resources,
    TaskEnvironment,
    launch_time,
)
from taskdata.schema.image import TaskImage
from taskdata.schema.input_file import InputFile
from taskdata.schema.package import DomainRule, SimulatedUser, TaskPackage
from taskdata.schema.planning import CaseBrief, PlanningCase
from taskdata.schema.service import (
    FOLDER,
    Service,
    ServiceBrief,
    briefs_of,
    service_of,
)

__all__ = [
    "Answer",
    "BankRelease",
    "Capability",
    "Category",
    "DeliverableSpec",
    "DeliverableType",
    "ImageGenerationAnswer",
    "InputFile",
    "ObjectiveAnswer",
    "Provenance",
    "ReferenceSolution",
    "ReferenceStep",
    "Resources",
    "SubjectiveAnswer",
    "Task",
    "TaskBrief",
    "TaskEnvironment",
    "Tier",
]


class Tier(StrEnum):
    """Short closed-ended tool use or a long workflow (GTA-2, section 3), or a plan alone (APB)."""

    ATOMIC = "atomic"
    WORKFLOW = "workflow"
    PLANNING = "planning"


class Category(StrEnum):
    """The six domains of GTA-Workflow."""

    DATA_ANALYSIS = "data_analysis"
    EDUCATION_INSTRUCTION = "education_instruction"
    PLANNING_DECISION = "planning_decision"
    CREATIVE_DESIGN = "creative_design"
    MARKETING_STRATEGY = "marketing_strategy"
    RETRIEVAL_QA = "retrieval_qa"


class Capability(StrEnum):
    """What a task, or a tool, exercises (GTA, section 3)."""

    PERCEPTION = "perception"
    OPERATION = "operation"
    LOGIC = "logic"
    CREATIVITY = "creativity"


class ReferenceStep(GrowingValue):
    """One tool call of a reference solution."""

    added_later: ClassVar[frozenset[str]] = frozenset({"result"})

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    thought: str = ""
    result: str | None = None
    """What the tool answered when the chain was recorded (GTA, section 3.3); None: not recorded."""


class ReferenceSolution(Value):
    """Tool calls and final answer that must earn the full score."""

    steps: tuple[ReferenceStep, ...]
    final_answer: str


class ObjectiveAnswer(Value):
    """Right when every whitelist group has an alias in the answer and no blacklist alias is."""

    kind: Literal["objective"] = "objective"
    whitelist: tuple[tuple[str, ...], ...] = Field(min_length=1)
    blacklist: tuple[tuple[str, ...], ...] = ()


class SubjectiveAnswer(Value):
    """Compared by meaning with reference texts, of which GTA has three."""

    kind: Literal["subjective"] = "subjective"
    references: tuple[str, ...] = Field(min_length=1)


class ImageGenerationAnswer(Value):
    """No text answer: the arguments of the generating calls are compared."""

    kind: Literal["image_generation"] = "image_generation"


Answer = Annotated[
    ObjectiveAnswer | SubjectiveAnswer | ImageGenerationAnswer, Field(discriminator="kind")
]


UNKNOWN_LICENCE = "unknown"
"""The licence of a task whose origin states none."""
GTA_ATOMIC = "gta-atomic"
"""The source of tasks that were published as GTA-Atomic."""
GTA_WORKFLOW = "gta-workflow"
"""The source of tasks that were published as GTA-Workflow."""


class Provenance(Value):
    """Where the task came from."""

    source: str = "internal"
    license: str = "Apache-2.0"
    seed_id: str | None = None
    url: str | None = None

    @property
    def as_published(self) -> bool:
        """Whether the task keeps the form in which GTA-Workflow published it, and is scored so.

        Its tree may have any depth and number of leaves, a node whose children's weights add up to
        0 scores 0, and where its query names no file, any file that an agent leaves is meant. In a
        task of our own these are faults, whatever source its seed names.
        """
        return self.source == GTA_WORKFLOW and self.seed_id is None


class TaskBrief(Value):
    """What an agent is told.

    No field can hold a checkpoint, a reference or the instructions of a simulated user.
    """

    task_id: Slug
    query: str
    files: tuple[RelativePath, ...]
    deliverables: tuple[DeliverableSpec, ...]
    tools: tuple[str, ...]
    services: tuple[ServiceBrief, ...] = ()
    feedback: str | None = None
    """Feedback on the previous attempt, in refinement rounds."""
    earlier: EarlierAttempt | None = None
    """The previous attempt; None in a first one."""
    one_workspace: bool = False
    """The files lie in `output/`, where the agent works, and may be changed."""
    system_prompt: str = ""
    """Stands after that of the harness."""
    role: str = ""
    domain_rules: tuple[DomainRule, ...] = ()
    is_talk: bool = False
    """Whether a simulated user answers at the end of the agent's turn."""
    plan: str = ""
    """What the agent's own model planned for the task."""
    case: CaseBrief | None = None
    """Of a planning case: what is asked, and the tools that are offered in words."""


class Task(GrowingValue):
    """A benchmark-ready item; `content_hash` identifies it in every measurement."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {"environment", "extras", "package", "canary", "planning"}
    )

    id: Slug
    tier: Tier
    category: Category
    capabilities: tuple[Capability, ...] = Field(min_length=1)
    title: str = Field(min_length=1)
    query: str = Field(min_length=1, max_length=100_000)
    human_minutes: int = Field(default=20, ge=1)
    """Time a competent person would need."""
    files: tuple[InputFile, ...] = ()
    tools: tuple[str, ...] = Field(min_length=1)
    deliverables: tuple[DeliverableSpec, ...] = ()
    checkpoints: Checkpoint
    answer: Answer | None = None
    reference: ReferenceSolution | None = None
    resources: Resources = Resources()
    provenance: Provenance = Provenance()
    environment: TaskEnvironment | None = None
    extras: dict[str, Any] = Field(default_factory=dict)
    """Fields of the format it was imported from that have no other place here."""
    package: TaskPackage | None = None
    """Role, domain rules, the simulated user, family and difficulty."""
    canary: str = Field(default="", max_length=200)
    """A string that stands nowhere else, from the construction of the task; no agent sees it."""
    planning: PlanningCase | None = None
    """What is asked of a planner; of a task of tier `planning`, and only of it."""

    @model_validator(mode="after")
    def _planning_has_a_case(self) -> Self:
        if (self.tier is Tier.PLANNING) != (self.planning is not None):
            raise ValueError(
                f"task {self.id!r}: tier {self.tier} "
                + ("needs a planning case" if self.planning is None else "takes no planning case")
            )
        plans = any(isinstance(leaf.verifier, PlanGrade) for leaf in self.checkpoints.leaves())
        if plans != (self.planning is not None):
            raise ValueError(
                f"task {self.id!r}: a leaf that is verified by the grade of a plan belongs to a "
                "planning case, and a planning case has one"
            )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = Counter(node.id for node in self.checkpoints.nodes())
        repeated = [node_id for node_id, count in ids.items() if count > 1]
        if repeated:
            raise ValueError(f"checkpoint ids repeat: {sorted(repeated)}")
        names = {d.name for d in self.deliverables}
        for name in names:
            if self.asks_again and name.partition("/")[0] == ASKED_AGAIN:
                raise ValueError(
                    f"deliverable {name!r}: {ASKED_AGAIN}/ is for answers of tools after the trial"
                )
            if self.services and name.partition("/")[0] == FOLDER:
                raise ValueError(
                    f"deliverable {name!r}: the final state of services is in {FOLDER}/, which no "
                    "agent can write; checkpoints may look at it without asking for it"
                )
        for leaf in self.checkpoints.leaves():
            verifier = leaf.verifier
            if (check := checked_by_code(verifier)) is not None:
                asked = {check.deliverable} - {None}
            elif isinstance(verifier, Judge):
                asked = set(verifier.deliverables)
            elif isinstance(verifier, ScriptCheck):
                self._require_program(leaf.id, verifier)
                continue
            else:
                continue
            unknown = [n for n in asked - names if not service_of(str(n), self.services)]
            if unknown:
                raise ValueError(
                    f"checkpoint {leaf.id!r} looks at {sorted(map(str, unknown))}, "
                    f"which are not among the deliverables {sorted(names)}"
                )
        return self

    def _require_program(self, leaf_id: str, script: ScriptCheck) -> None:
        programs = {f.path for f in self.environment.evaluation} if self.environment else set()
        if script.entry not in programs:
            raise ValueError(
                f"checkpoint {leaf_id!r} runs {script.entry!r}, which is not among the evaluation "
                f"files {sorted(programs)}"
            )
        names = {service.name for service in self.services}
        if unknown := sorted(set(script.services) - names):
            raise ValueError(
                f"checkpoint {leaf_id!r} needs the services {unknown}, which are not among the "
                f"task's {sorted(names)}"
            )

    @property
    def services(self) -> tuple[Service, ...]:
        """What is started for each trial."""
        return self.environment.services if self.environment else ()

    @property
    def has_one_workspace(self) -> bool:
        """Whether the agent works in the folder that holds the task's files."""
        return self.environment is not None and self.environment.one_workspace

    @property
    def simulated_user(self) -> SimulatedUser | None:
        """The simulated user; None: the query is all that the user says."""
        return None if self.package is None else self.package.user

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders that exist in the one workspace even if they are empty."""
        return self.environment.folders if self.environment else ()

    @property
    def max_turns(self) -> int | None:
        """The most turns that the task allows; None: the agent's budget alone counts."""
        return self.environment.max_turns if self.environment else None

    @property
    def image(self) -> TaskImage | None:
        """The task's own container image; None: sandboxes use their usual image."""
        return self.environment.image if self.environment else None

    @property
    def is_decided_by_program(self) -> bool:
        """Whether one program that the task brings says passed or failed, and nothing else counts.

        Tasks of other benchmarks are of this kind; what makes a good checkpoint tree, or a query
        from which no tool can be guessed, is not asked of them.
        """
        first, *others = (leaf.verifier for leaf in self.checkpoints.leaves())
        is_foreign = isinstance(first, ScriptCheck) and first.verdict in FOREIGN_VERDICTS
        return is_foreign and all(other == first for other in others)

    @property
    def asks_again(self) -> bool:
        """Whether a checkpoint needs a tool to be called again right after the trial."""
        return any(isinstance(leaf.verifier, AskedAgain) for leaf in self.checkpoints.leaves())

    def is_answer(self, name: str) -> bool:
        """Return whether a file of a trial is the answer of a tool that was called again."""
        return self.asks_again and name.partition("/")[0] == ASKED_AGAIN

    @property
    def services_of_programs(self) -> frozenset[str]:
        """Names of the services that are started again for programs that score the task."""
        scripts = (leaf.verifier for leaf in self.checkpoints.leaves())
        return frozenset(n for s in scripts if isinstance(s, ScriptCheck) for n in s.services)

    @property
    def state_files(self) -> frozenset[str]:
        """Parts of the final state of services that checkpoints look at, like deliverables."""
        looked_at: set[str | None] = set()
        for leaf in self.checkpoints.leaves():
            if (check := checked_by_code(leaf.verifier)) is not None:
                looked_at.add(check.deliverable)
            elif isinstance(leaf.verifier, Judge):
                looked_at.update(leaf.verifier.deliverables)
        return frozenset(n for n in looked_at if n is not None and service_of(n, self.services))

    @property
    def stored_files(self) -> tuple[InputFile, ...]:
        """Every file whose bytes belong to the task, those hidden from the agent included."""
        around = self.environment
        hidden = (
            (*around.preprocess, *around.evaluation, *around.groundtruth, *around.search)
            if around
            else ()
        )
        sources = (s.source for s in around.pool_servers if s.source) if around else ()
        return (*self.files, *hidden, *(f for s in self.services for f in s.files), *sources)

    @property
    def folder(self) -> tuple[InputFile, ...]:
        """The folder of a task with one workspace as it was published, for programs look round."""
        around = self.environment or TaskEnvironment()
        initial = (f.model_copy(update={"path": f"{INITIAL}/{f.path}"}) for f in self.files)
        parts = (*initial, *around.preprocess, *around.groundtruth, *around.evaluation)
        return tuple({file.path: file for file in parts}.values())

    @property
    def content_hash(self) -> str:
        """Hex sha256 over everything in the task, its files' hashes included."""
        return self.digest()

    def brief(
        self,
        feedback: str | None = None,
        launched: datetime | None = None,
        earlier: EarlierAttempt | None = None,
    ) -> TaskBrief:
        """Return what the agent may see; `launched`: when its trial began."""
        own = self.environment.system_prompt if self.environment else ""
        now = "" if launched is None else launch_time(launched)
        package = self.package or TaskPackage()
        return TaskBrief(
            task_id=self.id,
            query=self.query,
            files=self._shown_files,
            deliverables=self.deliverables,
            tools=self.tools,
            # In a pool's task the servers know where their database is, and the agent has them.
            services=() if self.has_one_workspace else briefs_of(self.services),
            feedback=feedback,
            earlier=earlier,
            one_workspace=self.has_one_workspace,
            system_prompt=own.replace(LAUNCH_TIME, now),
            role=package.role,
            domain_rules=package.domain_rules,
            is_talk=self.simulated_user is not None,
            case=None if self.planning is None else self.planning.brief,
        )

    @property
    def _shown_files(self) -> tuple[str, ...]:
        return tuple(f.path for f in self.files) if self.planning is None else self.planning.media


class BankRelease(Value):
    """An immutable snapshot of a bank: its hash is the hash of its tasks' hashes."""

    hash: Sha256
    name: Slug
    task_hashes: tuple[Sha256, ...]
