"""A broken rule, its place, and its wording for a model or a person."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from pydantic import Field

from quality.suites.checkpoint_trees import TreeRules
from quality.suites.tasks import TaskRules
from taskdata.schema.base import Value
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import Tier

_TREE = "checkpoints"


class Violation(Value):
    """A place of a draft that breaks a rule."""

    field: str = Field(min_length=1)
    """`query`, `deliverables`, `checkpoints.<id>.requirement`, ..."""
    rule: str = Field(min_length=1)
    message: str = Field(min_length=1)

    @property
    def is_of_tree(self) -> bool:
        """Whether another checkpoint tree would remove it, without changing the task."""
        return self.field.split(".", 1)[0] == _TREE

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(frozen=True)
class Rulebook:
    """The limits and lists that a draft is checked against."""

    tier: Tier
    tools: Collection[str]
    """Tools that exist."""
    files: Collection[str]
    """Names of the existing attachments."""
    wanted_tools: Collection[str] = ()
    """Tools for which the task was requested."""
    overridden: Collection[str] = ()
    """Rules that a person lets this draft break."""
    task: TaskRules = field(default_factory=TaskRules)
    tree: TreeRules = field(default_factory=TreeRules)
    safety: SafetyRules = field(default_factory=SafetyRules)


def counted(found: Iterable[Violation], book: Rulebook) -> tuple[Violation, ...]:
    """Return the violations of rules that are not overridden for the draft."""
    return tuple(violation for violation in found if violation.rule not in book.overridden)


def in_tree(node_id: str, part: str = "") -> str:
    """Return the field name of a checkpoint, or of a part of it."""
    return f"{_TREE}.{node_id}" + (f".{part}" if part else "")


def of_tree() -> str:
    """Return the field name of the tree as a whole."""
    return _TREE
