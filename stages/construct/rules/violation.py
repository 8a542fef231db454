"""What breaks a rule, where, and how a model or a person is told."""

from collections.abc import Collection
from dataclasses import dataclass, field

from pydantic import Field

from quality.suites.checkpoint_trees import TreeRules
from quality.suites.tasks import TaskRules
from taskdata.schema.base import Value
from taskdata.schema.task import Tier

_TREE = "checkpoints"


class Violation(Value):
    """One place of a draft that breaks one rule."""

    field: str = Field(min_length=1)
    """`query`, `deliverables`, `checkpoints.<id>.requirement`, ..."""
    rule: str = Field(min_length=1)
    message: str = Field(min_length=1)

    @property
    def is_of_tree(self) -> bool:
        """Whether another checkpoint tree would mend it, the task left as it is."""
        return self.field.split(".", 1)[0] == _TREE

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(frozen=True)
class Rulebook:
    """What drafts are held to, beside what is always true of a good one."""

    tier: Tier
    tools: Collection[str]
    """Tools that exist."""
    files: Collection[str]
    """Names of the attachments there are."""
    wanted_tools: Collection[str] = ()
    """Tools that the task was asked for."""
    task: TaskRules = field(default_factory=TaskRules)
    tree: TreeRules = field(default_factory=TreeRules)


def in_tree(node_id: str, part: str = "") -> str:
    """Return the field name of a checkpoint, or of a part of it."""
    return f"{_TREE}.{node_id}" + (f".{part}" if part else "")


def of_tree() -> str:
    """Return the field name of the tree as a whole."""
    return _TREE
