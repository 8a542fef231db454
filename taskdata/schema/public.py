"""The part of a task that can be published: what an agent sees, and nothing that scores it."""

from pydantic import Field

from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.deliverable import DeliverableSpec
from taskdata.schema.input_file import InputFile
from taskdata.schema.package import Difficulty, DomainRule, Family, TurnMode
from taskdata.schema.planning import CaseBrief
from taskdata.schema.service import ServiceBrief, briefs_of
from taskdata.schema.task import Capability, Category, Task, TaskEnvironment, Tier

_SERVER = "mcp:"


class PublicTask(Value):
    """A task without checkpoints, answer, reference, programs, hidden files and origin.

    No field can hold the requirement of a checkpoint: it often states the value that is right.
    """

    id: Slug
    hash: Sha256
    """Of the whole task, by which its owner finds it again."""
    export_canary: str
    tier: Tier
    category: Category
    capabilities: tuple[Capability, ...]
    title: str
    query: str
    human_minutes: int
    files: tuple[InputFile, ...]
    tools: tuple[str, ...]
    """Those that the task needs and its distractors, which cannot be told apart."""
    servers: tuple[str, ...]
    """MCP servers, likewise."""
    services: tuple[ServiceBrief, ...]
    """What the agent is told of them, without the data that fills them."""
    deliverables: tuple[DeliverableSpec, ...]
    system_prompt: str = ""
    role: str = ""
    domain_rules: tuple[DomainRule, ...] = ()
    family: Family | None = None
    difficulty: Difficulty | None = None
    turn_mode: TurnMode = "single"
    source: str
    license: str
    case: CaseBrief | None = None
    """What a planner is told of a planning case."""


class PartsManifest(Value):
    """Which tasks of a bank are public, with hashes that let the owner prove which are not."""

    bank: str
    seed: int
    public_share: float = Field(gt=0, lt=1)
    public: dict[Slug, Sha256]
    """Content hash of the whole task by id."""
    private: tuple[Sha256, ...]
    """Content hashes alone; who has such a task can show that it was held back."""


def public_task(task: Task, canary: str) -> PublicTask:
    """Return the part of the task that can be published."""
    around, brief = task.environment or TaskEnvironment(), task.brief()
    tools = {name for name in around.distractors if not name.startswith(_SERVER)}
    servers = {n.removeprefix(_SERVER) for n in around.distractors if n.startswith(_SERVER)}
    package = task.package
    return PublicTask(
        id=task.id,
        hash=task.content_hash,
        export_canary=canary,
        tier=task.tier,
        category=task.category,
        capabilities=task.capabilities,
        title=task.title,
        query=task.query,
        human_minutes=task.human_minutes,
        files=task.files,
        tools=tuple(sorted({*task.tools, *tools})),
        servers=tuple(sorted({*around.servers, *servers})),
        services=() if task.has_one_workspace else briefs_of(task.services),
        deliverables=task.deliverables,
        system_prompt=around.system_prompt,
        role=brief.role,
        domain_rules=brief.domain_rules,
        family=package.family if package else None,
        difficulty=package.difficulty if package else None,
        turn_mode=package.turn_mode if package else "single",
        source=task.provenance.source,
        license=task.provenance.license,
        case=brief.case,
    )
