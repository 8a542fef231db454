"""The gate after checkpoints were regenerated: does every tree ask for outcomes, and weigh them?"""

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import (
    ROW,
    between,
    filled,
    of_each,
    quarantining,
    rule,
    unique_together,
    unlike,
)
from quality.suites.tasks import TreeShape, some_weight, weight_of_children
from quality.tool_names import tools_named
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.gate import Bounds, Share
from taskdata.schema.task import Task, Tier

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

# How a requirement begins that prescribes an action instead of an outcome (GTA-2, section 3.3.4).
_ACTION = (
    r"(?i)^\s*(?:(?:use|call|invoke|run|execute|open|launch|click(?: on)?) (?:the|an?|this|these"
    r"|your)\b|(?:first|next|then|finally|afterwards),|step \d)"
)
_WEIGHED = "every weight is positive and finite"


class TreeLimits(Value):
    """What the gate asks of a checkpoint tree beside its shape."""

    min_checkable_share: Share = 0.3
    """Least share (0-1) of a tree's weight that code can verify."""
    requirement_length: Bounds = (10, 1_000)
    """Characters, white space at the ends not counted."""


class TreeRules(TreeShape, TreeLimits):
    """What the gate asks of a checkpoint tree."""


def tree_rows(tasks: Sequence[Task], tools: Collection[str]) -> list[dict[str, Any]]:
    """Return one row per task about its tree, with the nodes of the tree as parts."""
    return [_row(task, tools) for task in tasks]


def checkpoint_trees_suite(rules: TreeRules = TreeRules()) -> Suite:
    """Return the suite named `checkpoint_trees` over `tree_rows`, all at level `quarantine`."""
    return Suite(
        name="checkpoint_trees",
        id_column="task_id",
        columns=(
            "task_id",
            "tier",
            "leaves",
            "depth",
            "checkable_share",
            "tools_named",
        ),
        parts={
            "nodes": (
                "node",
                "weight",
                "weight_of_children",
                "requirement",
                "wording",
                "requirement_length",
            )
        },
        expectations=lambda: quarantining([*_shape(rules), *_wording(rules)]),
    )


def _row(task: Task, tools: Collection[str]) -> dict[str, Any]:
    nodes = list(task.checkpoints.nodes())
    rubrics = [n.verifier.rubric for n in nodes if isinstance(n.verifier, Judge)]
    named = tools_named("\0".join([*(n.requirement for n in nodes), *rubrics]), tools)
    return {
        "task_id": task.id,
        "tier": task.tier.value,
        "leaves": sum(n.verifier is not None for n in nodes),
        "depth": task.checkpoints.depth(),
        "checkable_share": task.checkpoints.checkable_share(),
        "tools_named": len(named),
        "named_tools": sorted(named),
        "nodes": [_node(node) for node in nodes],
    }


def _node(node: Checkpoint) -> dict[str, Any]:
    wording = node.requirement.strip()
    return {
        "node": node.id,
        "weight": node.weight,
        "weight_of_children": weight_of_children(node),
        "requirement": node.requirement,
        "wording": wording.lower(),
        "requirement_length": len(wording),
    }


def _shape(rules: TreeRules) -> list["Expectation"]:
    share = rules.min_checkable_share
    sizes = [
        (Tier.WORKFLOW, "leaves", rules.workflow_leaves),
        (Tier.WORKFLOW, "depth", rules.workflow_depth),
        (Tier.ATOMIC, "leaves", rules.atomic_leaves),
    ]
    return [
        *(
            between(
                column,
                f"the {column} of {tier} trees number {low} to {high}",
                low,
                high,
                tier=tier,
            )
            for tier, column, (low, high) in sizes
        ),
        between("checkable_share", f"code can verify {share:.0%} of a tree's weight", share, 1),
        *of_each(
            "nodes",
            rule(
                "bad_weights",
                between("weight", _WEIGHED, 0, sys.float_info.max, above_low=True),
                shows="node",
            ),
            rule("bad_weights", filled("weight", _WEIGHED), shows="node"),
            some_weight(),
            rule(
                "repeated_ids",
                unique_together([ROW, "node"], "the ids of a tree's checkpoints are distinct"),
            ),
        ),
    ]


def _wording(rules: TreeRules) -> list["Expectation"]:
    shortest, longest = rules.requirement_length
    length = f"a requirement has {shortest} to {longest} characters"
    repeated = "no two checkpoints of a tree require the same"
    action = "a requirement names an outcome, not an action"
    named = between("tools_named", "requirements and rubrics name no tool", high=0)
    return [
        *of_each(
            "nodes",
            rule(
                "requirements_of_wrong_length",
                between("requirement_length", length, shortest, longest),
                shows="node",
            ),
            rule(
                "repeated_requirements", unique_together([ROW, "wording"], repeated), shows="node"
            ),
            rule("action_requirements", unlike("requirement", action, _ACTION), shows="node"),
        ),
        rule("tools_named", named, shows="named_tools"),
    ]
