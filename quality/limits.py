"""The limits of every gate together, as settings give them."""

from quality.suites.bank import BankRules
from quality.suites.checkpoint_trees import TreeLimits, TreeRules
from quality.suites.files import FileRules
from quality.suites.planning_cases import PlanningCaseRules
from quality.suites.seeds import SeedRules
from quality.suites.tasks import TaskLimits, TaskRules, TreeShape
from taskdata.schema.base import Value


class GateLimits(Value):
    """The `[gates]` table: one table for each gate with limits."""

    seeds: SeedRules = SeedRules()
    tasks: TaskLimits = TaskLimits()
    """Of the tasks of a run, and of drafted ones."""
    checkpoint_trees: TreeLimits = TreeLimits()
    files: FileRules = FileRules()
    bank: BankRules = BankRules()
    planning_cases: PlanningCaseRules = PlanningCaseRules()

    @property
    def task_rules(self) -> TaskRules:
        """What is asked of a drafted task."""
        return TaskRules(**self.tasks.model_dump())

    @property
    def tree_rules(self) -> TreeRules:
        """What is asked of the tree of a drafted task."""
        shape = self.tasks.model_dump(include=set(TreeShape.model_fields))
        return TreeRules(**shape, **self.checkpoint_trees.model_dump())
