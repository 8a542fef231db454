"""The gate after checkpoints were regenerated: does every tree ask for outcomes, and weigh them?"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import between, empty, quarantining
from quality.suites.tasks import TreeShape, tools_named
from taskdata.schema.base import Value
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.gate import Bounds, Share
from taskdata.schema.task import Task, Tier

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

# How a requirement begins that prescribes an action instead of an outcome (GTA-2, section 3.3.4).
_ACTION = re.compile(
    r"\s*(?:(?:use|call|invoke|run|execute|open|launch|click(?: on)?) (?:the|an?|this|these|your)\b"
    r"|(?:first|next|then|finally|afterwards),|step \d)",
    re.IGNORECASE,
)


class TreeLimits(Value):
    """What the gate asks of a checkpoint tree beside its shape."""

    min_checkable_share: Share = 0.3
    """Least share (0-1) of a tree's weight that code can verify."""
    requirement_length: Bounds = (10, 1_000)
    """Characters, white space at the ends not counted."""


class TreeRules(TreeShape, TreeLimits):
    """What the gate asks of a checkpoint tree."""


def tree_rows(
    tasks: Sequence[Task], tools: Collection[str], rules: TreeRules = TreeRules()
) -> list[dict[str, Any]]:
    """Return one row per task about its tree; fault columns name the nodes at fault, or None."""
    return [_row(task, tools, rules) for task in tasks]


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
            "bad_weights",
            "weightless_nodes",
            "checkable_share",
            "repeated_ids",
            "requirements_of_wrong_length",
            "repeated_requirements",
            "action_requirements",
            "tools_named",
        ),
        expectations=lambda: quarantining([*_shape(rules), *_wording(rules)]),
    )


def _row(task: Task, tools: Collection[str], rules: TreeRules) -> dict[str, Any]:
    nodes = list(task.checkpoints.nodes())
    shortest, longest = rules.requirement_length
    rubrics = [n.verifier.rubric for n in nodes if isinstance(n.verifier, Judge)]
    wordings = Counter(_wording_of(n) for n in nodes)
    ids = Counter(n.id for n in nodes)
    return {
        "task_id": task.id,
        "tier": task.tier.value,
        "leaves": sum(n.verifier is not None for n in nodes),
        "depth": task.checkpoints.depth(),
        "bad_weights": _listed(n for n in nodes if not (isfinite(n.weight) and n.weight > 0)),
        "weightless_nodes": _listed(
            n for n in nodes if n.children and not any(c.weight for c in n.children)
        ),
        "checkable_share": task.checkpoints.checkable_share(),
        "repeated_ids": ", ".join(sorted(i for i, count in ids.items() if count > 1)) or None,
        "requirements_of_wrong_length": _listed(
            n for n in nodes if not shortest <= len(n.requirement.strip()) <= longest
        ),
        "repeated_requirements": _listed(n for n in nodes if wordings[_wording_of(n)] > 1),
        "action_requirements": _listed(n for n in nodes if _ACTION.match(n.requirement)),
        "tools_named": ", ".join(
            sorted(tools_named("\0".join([*(n.requirement for n in nodes), *rubrics]), tools))
        )
        or None,
    }


def _wording_of(node: Checkpoint) -> str:
    return node.requirement.strip().lower()


def _listed(nodes: Iterable[Checkpoint]) -> str | None:
    return ", ".join(node.id for node in nodes) or None


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
        empty("bad_weights", "every weight is positive and finite"),
        empty("weightless_nodes", "the children of every inner node have some weight"),
        between("checkable_share", f"code can verify {share:.0%} of a tree's weight", share, 1),
        empty("repeated_ids", "the ids of a tree's checkpoints are distinct"),
    ]


def _wording(rules: TreeRules) -> list["Expectation"]:
    shortest, longest = rules.requirement_length
    return [
        empty(
            "requirements_of_wrong_length",
            f"a requirement has {shortest} to {longest} characters",
        ),
        empty("repeated_requirements", "no two checkpoints of a tree require the same"),
        empty("action_requirements", "a requirement names an outcome, not an action"),
        empty("tools_named", "requirements and rubrics name no tool"),
    ]
