"""What a list of tasks shows, so that listing thousands of them reads no checkpoint tree."""

from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.task import Capability, Category, Task, Tier


class TaskOutline(Value):
    """A task without its texts and its tree; stored beside the task when it is written."""

    id: Slug
    hash: Sha256
    tier: Tier
    category: Category
    capabilities: tuple[Capability, ...]
    title: str
    tools: tuple[str, ...]
    source: str
    """Where the task came from (`Provenance.source`)."""
    deliverables: tuple[str, ...]
    leaves: int
    depth: int
    checkable_share: float
    """Share (0-1) of the tree's weight that code can verify."""
    human_minutes: int | None = None
    """None of a task that was stored before outlines had it; the task itself has it."""
    steps: int | None = None
    """Tool calls of the reference; None without one, and where it was stored before."""


def outline(task: Task, content_hash: str) -> TaskOutline:
    """Return the outline of a task whose content hash is known."""
    tree = task.checkpoints
    return TaskOutline.model_construct(
        id=task.id,
        hash=content_hash,
        tier=task.tier,
        category=task.category,
        capabilities=task.capabilities,
        title=task.title,
        tools=task.tools,
        source=task.provenance.source,
        deliverables=tuple(d.name for d in task.deliverables),
        leaves=len(tree.leaves()),
        depth=tree.depth(),
        checkable_share=tree.checkable_share(),
        human_minutes=task.human_minutes,
        steps=None if task.reference is None else len(task.reference.steps),
    )


class TaskFilter(Value):
    """Which tasks a list shows; what is None admits all."""

    tier: Tier | None = None
    category: Category | None = None
    capability: Capability | None = None
    tool: str | None = None
    source: str | None = None

    def admits(self, task: TaskOutline) -> bool:
        """Return whether the list shows this task."""
        return (
            self.tier in (None, task.tier)
            and self.category in (None, task.category)
            and (self.capability is None or self.capability in task.capabilities)
            and (self.tool is None or self.tool in task.tools)
            and self.source in (None, task.source)
        )
