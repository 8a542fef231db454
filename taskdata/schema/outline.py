"""What a list of tasks shows, so that listing thousands of them reads no checkpoint tree."""

from typing import Self

from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.planning import Form, Infeasibility, PlanningCase, Setting, ToolRole
from taskdata.schema.task import Capability, Category, Task, Tier


class CaseOutline(Value):
    """What kind of planning case a task is."""

    setting: Setting
    form: Form
    horizon: int | None = None
    """How many next actions are asked for; None: the whole plan."""
    distractors: int = 0
    infeasibility: Infeasibility | None = None

    @classmethod
    def of(cls, case: PlanningCase) -> Self:
        """Return the outline of a case."""
        return cls(
            setting=case.setting,
            form=case.form,
            horizon=case.horizon,
            distractors=len(case.of_role(ToolRole.DISTRACTOR)),
            infeasibility=case.infeasibility,
        )

    def __str__(self) -> str:
        """The setting, and in it the kind, k next actions and n distractors."""
        told = [self.setting.value.replace("_", " ")]
        if self.infeasibility is not None:
            told.append(self.infeasibility.value.replace("_", " "))
        if self.setting is Setting.EXTRANEOUS:
            told += [self.form.value.replace("_", " "), f"n = {self.distractors}"]
        if self.horizon is not None:
            told.append(f"k = {self.horizon}")
        return ", ".join(told)


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
    case: CaseOutline | None = None
    """Of a planning case; None of one that was stored before outlines had it."""


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
        steps=_steps(task),
        case=None if task.planning is None else CaseOutline.of(task.planning),
    )


def _steps(task: Task) -> int | None:
    if task.planning is not None:
        return task.planning.steps
    return None if task.reference is None else len(task.reference.steps)


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
