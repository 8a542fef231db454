"""The gate before a run: are these tasks fit to be asked and scored?

`task_rows` derives one row per task; nothing here opens a file or knows a tool, the names of the
tools and checks that exist are passed in.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import (
    ROW,
    among,
    between,
    filled,
    holds,
    like,
    of_each,
    one_of,
    one_pair_of,
    public_hosts,
    quarantining,
    rule,
    same,
    unique,
    unique_together,
)
from quality.tool_names import tools_named
from taskdata.banks.loader import bundled_banks
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Check, Checkpoint, Judge, ScriptCheck, checked_by_code
from taskdata.schema.gate import TASKS, Bounds
from taskdata.schema.package import SUBCATEGORIES
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Capability, Category, Task, Tier

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

ALWAYS_ALLOWED = frozenset({"finish", "list_files", "read_file"})
"""Tools that every agent has, whatever the task lists."""

TASK_COLUMNS = (
    "task_id",
    "tier",
    "category",
    "query_length",
    "tools_named",
    "tools_named_to_user",
    "family",
    "subcategory",
    "capabilities",
    "leaves",
    "depth",
    "checkable_share",
    "is_compared",
    "deliverables",
    "files",
    "has_reference",
)
TASK_PARTS = {
    "allowed_tools": ("tool",),
    "leaf_checks": ("check",),
    "inner_nodes": ("weight_of_children",),
    "asked_files": ("ending", "ending_of_type", "looking_leaves"),
    "input_files": ("size_bytes",),
    "paths": ("path",),
    "reference_steps": ("tool", "own_tools"),
    "network": ("host",),
}
"""Columns of what a task lists, by the column of `task_rows` that lists it."""

_NO_FAMILY = "no family"
_PLACES = [(family.value, name) for family, names in SUBCATEGORIES.items() for name in names]
_DISTINCT = "the paths of a task's files and deliverables are distinct"
_OF_PROGRAMS = ("tools_named", "leaves", "depth", "deliverables")
"""Columns that say nothing of a task that a single program decides."""
_OF_FORM = ("tools_named", "query_length", "leaves", "depth", "deliverables")
"""Columns that are not asked of a task in its published form."""


class TreeShape(Value):
    """How large a checkpoint tree is."""

    workflow_leaves: Bounds = (3, 19)
    """GTA-2, section 6.2.1: short trees have 3-7 leaves, long ones 13-19."""
    workflow_depth: Bounds = (2, 3)
    """Levels of a workflow task's tree."""
    atomic_leaves: Bounds = (1, 19)


class TaskLimits(TreeShape):
    """What every gate over tasks asks of their size."""

    query_length: Bounds = (20, 20_000)
    """Characters, white space at the ends not counted."""


class TaskRules(TaskLimits):
    """What the gate asks of a task beyond being well formed."""

    min_checkable_share: float = 0.0
    """Least share (0-1) of a workflow task's weight that code can verify."""
    needs_check: bool = False
    """Every task gets a figure without a judge."""
    needs_files: bool = False
    needs_reference: bool = False
    may_reach_private_addresses: bool = False
    """Who wrote the tasks may open this machine's network to agents."""
    quarantines: bool = True
    """Whether a task that breaks a rule is left out by itself, instead of stopping the run."""


def rules_for(config: RunConfig, limits: TaskLimits = TaskLimits()) -> TaskRules:
    """Return the rules for a run: bundled banks have stricter rules than a user's banks."""
    is_bundled = config.bank in bundled_banks()
    return TaskRules(
        **limits.model_dump(),
        min_checkable_share=0.7 if is_bundled else 0.0,
        needs_check=not config.every_judge,
        needs_files=is_bundled,
        needs_reference=is_bundled,
        # Of one's own folder only: a stored bank may have come from anywhere.
        may_reach_private_addresses=Path(config.bank).is_dir(),
        quarantines=not is_bundled,
    )


def task_rows(tasks: Sequence[Task], tools: Collection[str]) -> list[dict[str, Any]]:
    """Return one row per task, with what the task lists as parts.

    Columns that measure what is not asked of a task are None: one that a single program decides has
    no tree to speak of and names no deliverables, and one in its published form is taken as it is.

    Args:
        tasks: The tasks.
        tools: Names of the tools that exist, which a query must not give away.
    """
    return [_row(task, tools) for task in tasks]


def tasks_suite(rules: TaskRules, tools: Collection[str], checks: Collection[str]) -> Suite:
    """Return the suite named `tasks` over `task_rows`; `tools` and `checks` are those that exist.

    A task that nothing in this run can score always stops it: to leave such tasks out would make
    the evaluated tasks depend on whether there is a judge.
    """
    return Suite(
        name=TASKS,
        id_column="task_id",
        columns=TASK_COLUMNS,
        parts=TASK_PARTS,
        expectations=lambda: _of_a_run(rules, tools, checks),
    )


def _of_a_run(
    rules: TaskRules, tools: Collection[str], checks: Collection[str]
) -> list["Expectation"]:
    expected = task_expectations(rules, tools, checks)
    if rules.quarantines:
        expected = quarantining(expected)
    if rules.needs_check:
        says = (
            "without a judge (`--judge` names one), code can verify some leaf of every task, or "
            "compare its steps"
        )
        # The metrics of the atomic tier compare steps and answer with those of the reference.
        apart = holds("is_compared", value=False)
        verified = between("checkable_share", says, 0, above_low=True, where=apart)
        expected.append(rule("has_a_figure", verified))
    return expected


def task_expectations(
    rules: TaskRules, tools: Collection[str], checks: Collection[str]
) -> list["Expectation"]:
    """Return what is expected of `task_rows` in any flow, at level `stop`."""
    return [*_identity(rules), *_known(tools, checks), *_tree(rules), *_hand_outs(rules)]


def _row(task: Task, tools: Collection[str]) -> dict[str, Any]:
    every = {*tools, *task.tools}
    named, named_to_user = tools_named(task.query, every), _named_to_user(task, every)
    family = (task.package.family or _NO_FAMILY) if task.package else None
    subcategory = task.package.subcategory if task.package else None
    row = {
        "task_id": task.id,
        "tier": task.tier.value,
        "category": task.category.value,
        "query_length": len(task.query.strip()),
        "tools_named": len(named),
        "named_tools": sorted(named),
        "tools_named_to_user": len(named_to_user),
        "tools_told_to_user": sorted(named_to_user),
        "family": family,
        "subcategory": subcategory,
        "package": f"{family}/{subcategory}",
        "capabilities": ", ".join(sorted(c.value for c in set(task.capabilities))) or None,
        "leaves": len(task.checkpoints.leaves()),
        "depth": task.checkpoints.depth(),
        "checkable_share": task.checkpoints.checkable_share(),
        "is_compared": task.reference is not None and task.answer is not None,
        "deliverables": len(task.deliverables) + len(task.state_files),
        "files": len(task.files),
        "has_reference": task.reference is not None or task.planning is not None,
        **_tree_parts(task),
        **_file_parts(task),
        "allowed_tools": [{"tool": t} for t in sorted(set(task.tools) - _offered_in_words(task))],
        "reference_steps": _reference_steps(task),
        "network": [{"host": host} for host in task.resources.network],
    }
    if task.is_decided_by_program:
        return row | dict.fromkeys(_OF_PROGRAMS)
    return row | dict.fromkeys(_OF_FORM) if task.provenance.as_published else row


def _offered_in_words(task: Task) -> set[str]:
    """Return the tools of a planning case, which stand in the case and are never run."""
    return set() if task.planning is None else {tool.name for tool in task.planning.tools}


def _tree_parts(task: Task) -> dict[str, list[dict[str, Any]]]:
    checks = {check.name for leaf in task.checkpoints.leaves() if (check := _check_of(leaf))}
    # Published trees have nodes without weight, and are scored as they are.
    ours = not task.provenance.as_published
    return {
        "leaf_checks": [{"check": name} for name in sorted(checks)],
        "inner_nodes": [
            {
                "node": n.id,
                "weight_of_children": sum(c.weight for c in n.children) if ours else None,
            }
            for n in task.checkpoints.nodes()
            if n.children
        ],
    }


def _file_parts(task: Task) -> dict[str, list[dict[str, Any]]]:
    seen = _looks(task.checkpoints.leaves(), {d.name for d in task.deliverables})
    # A program makes what it wants of a file that is empty.
    sized = not task.is_decided_by_program
    paths = [f.path for f in task.files] + [d.name for d in task.deliverables]
    return {
        "asked_files": [
            {
                "name": d.name,
                "ending": d.name.lower()[-len(d.type) - 1 :],
                "ending_of_type": f".{d.type}",
                "looking_leaves": seen[d.name],
            }
            for d in task.deliverables
        ],
        "input_files": [
            {"path": f.path, "size_bytes": f.size_bytes if sized else None} for f in task.files
        ],
        "paths": [{"path": path} for path in paths],
    }


def _reference_steps(task: Task) -> list[dict[str, Any]]:
    """Return the tools that the reference uses, once each, beside those that it may use."""
    # The names of a server's tools are unknown until the server runs.
    unknown = task.environment is not None and bool(task.environment.servers)
    own = None if unknown else tuple(sorted({*task.tools, *ALWAYS_ALLOWED}))
    steps = task.reference.steps if task.reference else ()
    return [{"tool": tool, "own_tools": own} for tool in sorted({step.tool for step in steps})]


def weight_of_children(node: Checkpoint) -> float | None:
    """Return the weight of a node's children together, None if it is a leaf."""
    return sum(child.weight for child in node.children) if node.children else None


def _check_of(leaf: Checkpoint) -> Check | None:
    return checked_by_code(leaf.verifier)


def _named_to_user(task: Task, tools: set[str]) -> set[str]:
    """Return the tools that the simulated user's instructions name."""
    user = task.simulated_user
    return set() if user is None else tools_named(f"{user.persona}\n{user.instructions}", tools)


def _looks(leaves: Iterable[Checkpoint], asked: Collection[str]) -> Counter[str | None]:
    """Return how many leaves look at each deliverable; a program may look at any of them."""
    looks: Counter[str | None] = Counter()
    for leaf in leaves:
        if isinstance(leaf.verifier, ScriptCheck):
            looks.update(asked)
        elif (check := _check_of(leaf)) is not None:
            looks[check.deliverable] += 1
        elif isinstance(leaf.verifier, Judge):
            looks.update(set(leaf.verifier.deliverables))
    return looks


def _identity(rules: TaskRules) -> list["Expectation"]:
    shortest, longest = rules.query_length
    capability = "|".join(Capability)
    return [
        unique("task_id", "task ids are unique"),
        like("task_id", "a task id is a slug", r"^[a-z0-9][a-z0-9_\-]{0,79}$"),
        one_of("tier", "the tier is a known one", [t.value for t in Tier]),
        one_of("category", "the category is a known one", [c.value for c in Category]),
        filled("capabilities", "a task exercises at least one capability"),
        like(
            "capabilities",
            "the capabilities are known ones",
            rf"^(?:{capability})(?:, (?:{capability}))*$",
        ),
        between(
            "query_length", f"a query has {shortest} to {longest} characters", shortest, longest
        ),
        rule(
            "tools_named",
            between("tools_named", "a query names no tool", high=0),
            shows="named_tools",
        ),
        rule(
            "tools_named_to_user",
            between(
                "tools_named_to_user",
                "the instructions of a simulated user name no tool",
                high=0,
            ),
            shows="tools_told_to_user",
        ),
        rule(
            "misplaced_subcategory",
            one_pair_of("family", "subcategory", "a subcategory belongs to its family", _PLACES),
            shows="package",
        ),
    ]


def _known(tools: Collection[str], checks: Collection[str]) -> list["Expectation"]:
    exists = one_of("tool", "every tool a task allows exists", sorted(tools))
    checked = one_of("check", "every check of a tree exists", sorted(checks))
    return [
        *of_each("allowed_tools", rule("unknown_tools", exists)),
        *of_each("leaf_checks", rule("unknown_checks", checked)),
    ]


def _tree(rules: TaskRules) -> list["Expectation"]:
    tree = [
        _sized(Tier.WORKFLOW, "leaves", rules.workflow_leaves),
        _sized(Tier.WORKFLOW, "depth", rules.workflow_depth),
        _sized(Tier.ATOMIC, "leaves", rules.atomic_leaves),
        *of_each("inner_nodes", some_weight()),
        *of_each(
            "asked_files",
            rule(
                "unseen_deliverables",
                between("looking_leaves", "every deliverable is looked at by some leaf", 1),
                shows="name",
            ),
        ),
    ]
    if rules.min_checkable_share:
        tree.append(_at_least("checkable_share", rules.min_checkable_share))
    return tree


def _hand_outs(rules: TaskRules) -> list["Expectation"]:
    hand_outs = [
        _at_least("deliverables", 1),
        *of_each(
            "asked_files",
            rule(
                "misnamed_deliverables",
                same("ending", "ending_of_type", "the name of a deliverable ends with its type"),
                shows="name",
            ),
        ),
        *of_each(
            "input_files",
            rule("empty_files", between("size_bytes", "no input file is empty", 1), shows="path"),
        ),
        *of_each("paths", rule("repeated_paths", unique_together([ROW, "path"], _DISTINCT))),
        *of_each(
            "reference_steps",
            rule(
                "reference_tools_not_allowed",
                among("tool", "own_tools", "a reference solution uses the task's own tools"),
                shows="tool",
            ),
        ),
    ]
    if not rules.may_reach_private_addresses:
        says = "the hosts on a task's network list are public"
        hand_outs += of_each("network", rule("private_addresses", public_hosts("host", says)))
    if rules.needs_files:
        hand_outs.append(_at_least("files", 1))
    if rules.needs_reference:
        says = "every task carries a reference solution"
        hand_outs.append(one_of("has_reference", says, [True]))
    return hand_outs


def some_weight() -> "Expectation":
    """Expect of inner nodes that their children have some weight together."""
    says = "the children of every inner node have some weight"
    return rule(
        "weightless_nodes", between("weight_of_children", says, 0, above_low=True), shows="node"
    )


def _sized(tier: Tier, column: str, bounds: tuple[int, int]) -> "Expectation":
    low, high = bounds
    says = f"the {column} of a {tier} task's tree number {low} to {high}"
    return between(column, says, low, high, tier=tier)


def _at_least(column: str, least: float) -> "Expectation":
    says = f"the {column} of a workflow task is at least {least:g}"
    return between(column, says, least, tier=Tier.WORKFLOW)
