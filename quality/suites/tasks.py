"""The gate before a run: are these tasks fit to be asked and scored?

`task_rows` derives one row per task; nothing here opens a file or knows a tool, the names of the
tools and checks that exist are passed in.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import (
    between,
    empty,
    filled,
    like,
    one_of,
    quarantining,
    unique,
)
from taskdata.banks.loader import bundled_banks
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Checkpoint, Judge, ScriptCheck, checked_by_code
from taskdata.schema.gate import TASKS, Bounds
from taskdata.schema.network import private_addresses
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
    "unknown_tools",
    "unknown_checks",
    "capabilities",
    "leaves",
    "depth",
    "weightless_nodes",
    "checkable_share",
    "has_a_figure",
    "deliverables",
    "unseen_deliverables",
    "misnamed_deliverables",
    "files",
    "empty_files",
    "repeated_paths",
    "has_reference",
    "reference_tools_not_allowed",
    "private_addresses",
    "misplaced_subcategory",
    "tools_named_to_user",
)

_OF_PROGRAMS = ("tools_named", "leaves", "depth", "deliverables", "empty_files")
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


def task_rows(
    tasks: Sequence[Task], tools: Collection[str], checks: Collection[str]
) -> list[dict[str, Any]]:
    """Return one row per task; columns that name faults are None where there are none.

    So are those that measure what is not asked of a task: one that a single program decides has no
    tree to speak of and names no deliverables, and one in its published form is taken as it is.
    """
    return [_row(task, tools, checks) for task in tasks]


def tasks_suite(rules: TaskRules) -> Suite:
    """Return the suite named `tasks` over `task_rows`.

    A task that nothing in this run can score always stops it: to leave such tasks out would make
    the evaluated tasks depend on whether there is a judge.
    """
    return Suite(
        name=TASKS,
        id_column="task_id",
        columns=TASK_COLUMNS,
        expectations=lambda: _of_a_run(rules),
    )


def _of_a_run(rules: TaskRules) -> list["Expectation"]:
    expected = task_expectations(rules)
    if rules.quarantines:
        expected = quarantining(expected)
    if rules.needs_check:
        says = "without a judge, code can verify some leaf of every task, or compare its steps"
        expected.append(one_of("has_a_figure", says, [True]))
    return expected


def task_expectations(rules: TaskRules) -> list["Expectation"]:
    """Return what is expected of `task_rows` in any flow, at level `stop`."""
    return [*_identity(rules), *_tree(rules), *_hand_outs(rules)]


def _row(task: Task, tools: Collection[str], checks: Collection[str]) -> dict[str, Any]:
    leaves = task.checkpoints.leaves()
    asked = {d.name for d in task.deliverables}
    used_checks = {
        check.name for leaf in leaves if (check := checked_by_code(leaf.verifier)) is not None
    }
    steps = task.reference.steps if task.reference else ()
    paths = [f.path for f in task.files] + [d.name for d in task.deliverables]
    inner = [node for node in task.checkpoints.nodes() if node.children]
    row = {
        "task_id": task.id,
        "tier": task.tier.value,
        "category": task.category.value,
        "query_length": len(task.query.strip()),
        "tools_named": _listed(tools_named(task.query, {*tools, *task.tools})),
        "unknown_tools": _listed(set(task.tools) - set(tools) - _offered_in_words(task)),
        "unknown_checks": _listed(used_checks - set(checks)),
        "capabilities": _listed(c.value for c in set(task.capabilities)),
        "leaves": len(leaves),
        "depth": task.checkpoints.depth(),
        "weightless_nodes": _listed(
            node.id
            for node in inner
            if not any(child.weight for child in node.children) and not task.provenance.as_published
        ),
        "checkable_share": task.checkpoints.checkable_share(),
        "has_a_figure": _has_a_figure(task),
        "deliverables": len(asked) + len(task.state_files),
        "unseen_deliverables": _listed(asked - _looked_at(leaves, asked)),
        "misnamed_deliverables": _listed(
            d.name for d in task.deliverables if not d.name.lower().endswith(f".{d.type}")
        ),
        "files": len(task.files),
        "empty_files": _listed(f.path for f in task.files if f.size_bytes == 0),
        "repeated_paths": _listed({p for p in paths if paths.count(p) > 1}),
        "has_reference": task.reference is not None or task.planning is not None,
        # The names of a server's tools are unknown until the server runs.
        "reference_tools_not_allowed": _listed(
            set()
            if task.environment is not None and task.environment.servers
            else {s.tool for s in steps} - set(task.tools) - ALWAYS_ALLOWED
        ),
        "private_addresses": _listed(private_addresses(task.resources.network)),
        "misplaced_subcategory": None if task.package is None else task.package.misplaced,
        "tools_named_to_user": _listed(_named_to_user(task, {*tools, *task.tools})),
    }
    if task.is_decided_by_program:
        return row | dict.fromkeys(_OF_PROGRAMS)
    return row | dict.fromkeys(_OF_FORM) if task.provenance.as_published else row


def _offered_in_words(task: Task) -> set[str]:
    """Return the tools of a planning case, which stand in the case and are never run."""
    return set() if task.planning is None else {tool.name for tool in task.planning.tools}


def _has_a_figure(task: Task) -> bool:
    """Return whether a run without a judge says anything of the task.

    The metrics of the atomic tier compare steps and answer with those of the reference.
    """
    is_compared = task.reference is not None and task.answer is not None
    return is_compared or task.checkpoints.checkable_share() > 0


def _named_to_user(task: Task, tools: set[str]) -> set[str]:
    """Return the tools that the simulated user's instructions name."""
    user = task.simulated_user
    return set() if user is None else tools_named(f"{user.persona}\n{user.instructions}", tools)


def _looked_at(leaves: Iterable[Checkpoint], asked: set[str]) -> set[str | None]:
    """Return the deliverables that some leaf looks at; a program may look at any of them."""
    seen: set[str | None] = set()
    for leaf in leaves:
        if isinstance(leaf.verifier, ScriptCheck):
            seen |= asked
        elif (check := checked_by_code(leaf.verifier)) is not None:
            seen.add(check.deliverable)
        elif isinstance(leaf.verifier, Judge):
            seen.update(leaf.verifier.deliverables)
    return seen


def tools_named(text: str, tools: Iterable[str]) -> set[str]:
    """Return the tools that `text` gives away; a real user names none.

    A name that is no ordinary word (`ReadCSV`, `python_execute`) counts wherever it stands. One
    that is (`Plot`, `finish`) counts only in backticks or before the word tool.
    """
    text = text.lower()
    return {
        tool
        for tool, name, pattern in _giveaways(frozenset(tools))
        # A plain search first: it is many times faster, and most texts name no tool.
        if name in text and pattern.search(text)
    }


@lru_cache(maxsize=256)
def _giveaways(tools: frozenset[str]) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return each tool, its lower-case name, and what gives it away in a lower-case text."""
    found = []
    for tool in tools:
        name = tool.lower()
        word = re.escape(name)
        ordinary = re.fullmatch(r"[A-Za-z]?[a-z]+", tool)
        pattern = rf"`{word}`|\b{word} tool\b" if ordinary else rf"\b{word}\b"
        found.append((tool, name, re.compile(pattern)))
    return tuple(found)


def _listed(names: Iterable[str]) -> str | None:
    return ", ".join(sorted(names)) or None


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
        empty("tools_named", "a query names no tool"),
        empty("tools_named_to_user", "the instructions of a simulated user name no tool"),
        empty("misplaced_subcategory", "a subcategory belongs to its family"),
        empty("unknown_tools", "every tool a task allows exists"),
    ]


def _tree(rules: TaskRules) -> list["Expectation"]:
    tree = [
        _sized(Tier.WORKFLOW, "leaves", rules.workflow_leaves),
        _sized(Tier.WORKFLOW, "depth", rules.workflow_depth),
        _sized(Tier.ATOMIC, "leaves", rules.atomic_leaves),
        empty("weightless_nodes", "the children of every inner node have some weight"),
        empty("unknown_checks", "every check of a tree exists"),
        empty("unseen_deliverables", "every deliverable is looked at by some leaf"),
    ]
    if rules.min_checkable_share:
        tree.append(_at_least("checkable_share", rules.min_checkable_share))
    return tree


def _hand_outs(rules: TaskRules) -> list["Expectation"]:
    hand_outs = [
        _at_least("deliverables", 1),
        empty("misnamed_deliverables", "the name of a deliverable ends with its type"),
        empty("empty_files", "no input file is empty"),
        empty("repeated_paths", "the paths of a task's files and deliverables are distinct"),
        empty("reference_tools_not_allowed", "a reference solution uses the task's own tools"),
    ]
    if not rules.may_reach_private_addresses:
        says = "the hosts on a task's network list are public"
        hand_outs.append(empty("private_addresses", says))
    if rules.needs_files:
        hand_outs.append(_at_least("files", 1))
    if rules.needs_reference:
        says = "every task carries a reference solution"
        hand_outs.append(one_of("has_reference", says, [True]))
    return hand_outs


def _sized(tier: Tier, column: str, bounds: tuple[int, int]) -> "Expectation":
    low, high = bounds
    says = f"the {column} of a {tier} task's tree number {low} to {high}"
    return between(column, says, low, high, tier=tier)


def _at_least(column: str, least: float) -> "Expectation":
    says = f"the {column} of a workflow task is at least {least:g}"
    return between(column, says, least, tier=Tier.WORKFLOW)
