"""Groups of tasks, as GTA-2's figures have them, and what an agent reached on each."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from quality.breakdowns.leaves import leaf_scores
from quality.statistics.intervals import clustered_mean, clustered_share
from quality.success import root_sr
from taskdata.schema.agent_detail import GroupResult
from taskdata.schema.package import Difficulty, Family
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task

Grouping = Callable[[Task], set[str]]
"""Returns the groups that a task is in."""

OTHER = "other"
NO_DIFFICULTY = "any difficulty"
"""The difficulty in the table of tasks that name a family but no difficulty."""
ANSWER = "answer"
"""The type of tasks that ask for no file."""
_GROUPS = {
    "structured_data": "csv xlsx json",
    "slides": "pptx",
    "multimedia": "png jpg jpeg gif svg webp wav mp3 flac ogg mp4 webm",
    "text": "pdf docx txt md html",
    ANSWER: ANSWER,
}
_GROUP_OF = {kind: group for group, kinds in _GROUPS.items() for kind in kinds.split()}
_SIZES = ((3, 7), (8, 12), (13, 19))
"""Leaves of short, medium and long trees (GTA-2, section 6.2.1)."""


def by_category(task: Task) -> set[str]:
    """Return the domain of a task (GTA-2, figure 6)."""
    return {task.category.value}


def by_deliverable_type(task: Task) -> set[str]:
    """Return the types that a task asks for; `answer` where it asks for no file."""
    return {spec.type.value for spec in task.deliverables} or {ANSWER}


def by_deliverable_group(task: Task) -> set[str]:
    """Return the groups of these types (GTA-2, figure 5); `other` for those that it has not."""
    return {_GROUP_OF.get(kind, OTHER) for kind in by_deliverable_type(task)}


def by_family_and_difficulty(task: Task) -> set[str]:
    """Return the task's column in TOBench's table 2; empty if the task names no family."""
    package = task.package
    if package is None or package.family is None:
        return set()
    return {f"{package.family.value}, {package.difficulty or NO_DIFFICULTY}"}


def by_subcategory(task: Task) -> set[str]:
    """Return the task's family and subcategory; empty if the task does not name both."""
    package = task.package
    if package is None or package.family is None or package.subcategory is None:
        return set()
    return {f"{package.family.value}, {package.subcategory}"}


def by_leaves(task: Task) -> set[str]:
    """Return how large the checkpoint tree is (GTA-2, figure 4); `other` beyond 3 to 19 leaves."""
    leaves = len(task.checkpoints.leaves())
    return {next((f"{low}-{high}" for low, high in _SIZES if low <= leaves <= high), OTHER)}


def grouped(
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    rule: SuccessRule,
    grouping: Grouping,
) -> dict[str, GroupResult]:
    """Return what was reached on each group, by its name; groups without a scored trial are out.

    Args:
        results: One agent's trials.
        tasks: By content hash.
        rule: What success is.
        grouping: A task in several groups counts for each of them.
    """
    members: dict[str, list[TrialResult]] = {}
    for result in results:
        if result.root_score is not None:
            for name in grouping(tasks[result.trial.task_hash]):
                members.setdefault(name, []).append(result)
    return {name: group_result(members[name], tasks, rule) for name in in_order(members)}


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of groups as tables list them: sizes and difficulties rising, others by name."""
    order = [f"{low}-{high}" for low, high in _SIZES]
    order += [f"{family}, {level}" for family in Family for level in (*Difficulty, NO_DIFFICULTY)]
    return sorted(names, key=lambda n: (order.index(n) if n in order else len(order), n))


def group_result(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], rule: SuccessRule
) -> GroupResult:
    """Return root score, Root SR and Leaf SR over trials."""
    scored = [(r.trial.task_id, r.root_score) for r in results if r.root_score is not None]
    leaves = leaf_scores([r for r in results if r.root_score is not None], tasks)
    return GroupResult(
        root_score=clustered_mean(
            [score for _, score in scored], [task for task, _ in scored], lowest=0, highest=10
        ),
        root_sr=root_sr(results, rule),
        leaf_sr=clustered_share(
            [score > rule.threshold for _, _, score in leaves],
            [result.trial.task_id for result, _, _ in leaves],
        ),
    )
