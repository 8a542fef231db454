"""Rules about a checkpoint tree: its shape, its weights, and that its leaves can be verified."""

from collections import Counter
from collections.abc import Iterator
from math import isfinite

from stages.construct.rules.violation import Rulebook, Violation, in_tree, of_tree
from stages.score.library import validate_check
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.task import Tier

EXAMPLE = "The summary sheet lists all twelve months with their totals."
"""The requirement by which prompts explain what one is; some models hand it in as their own."""


def tree_violations(draft: TaskDraft, book: Rulebook) -> tuple[Violation, ...]:
    """Return the violations in the tree, except its wording."""
    return (
        *_shape(draft.checkpoints, book),
        *_nodes(draft.checkpoints, book),
        *_verifiers(draft),
        *_coverage(draft),
    )


def _shape(tree: Checkpoint, book: Rulebook) -> Iterator[Violation]:
    rules = book.tree
    if book.tier is Tier.WORKFLOW:
        (fewest, most), (flattest, deepest) = rules.workflow_leaves, rules.workflow_depth
    else:
        (fewest, most), (flattest, deepest) = rules.atomic_leaves, (1, rules.workflow_depth[1])
    leaves, depth, share = len(tree.leaves()), tree.depth(), tree.checkable_share()
    if not fewest <= leaves <= most:
        yield _of_tree("leaves", f"the tree has {leaves} leaves; {fewest} to {most} are allowed")
    if not flattest <= depth <= deepest:
        yield _of_tree("depth", f"the tree has {depth} levels; {flattest} to {deepest} are allowed")
    if share < rules.min_checkable_share:
        least = f"{100 * rules.min_checkable_share:.0f} %"
        yield _of_tree(
            "checkable_share",
            f"only {100 * share:.0f} % of the weight is decided by checks; {least} are needed",
        )


def _nodes(tree: Checkpoint, book: Rulebook) -> Iterator[Violation]:
    nodes = list(tree.nodes())
    ids = Counter(node.id for node in nodes)
    said = Counter(node.requirement.strip().lower() for node in nodes)
    shortest, longest = book.tree.requirement_length
    for node in nodes:
        if ids[node.id] > 1:
            yield _of_node(node, "unique_ids", "another checkpoint has the same id", "id")
        if not (isfinite(node.weight) and node.weight > 0):
            message = f"the weight is {node.weight:g}; weights are positive"
            yield _of_node(node, "weights", message, "weight")
        length = len(node.requirement.strip())
        if not shortest <= length <= longest:
            message = f"has {length} characters; {shortest} to {longest} are allowed"
            yield _of_node(node, "requirement_length", message, "requirement")
        if node.requirement.strip() == EXAMPLE:
            message = "this is the example of the instructions and not a demand of this query"
            yield _of_node(node, "copied_example", message, "requirement")
        if said[node.requirement.strip().lower()] > 1:
            message = "another checkpoint demands the same"
            yield _of_node(node, "unique_requirements", message, "requirement")


def _verifiers(draft: TaskDraft) -> Iterator[Violation]:
    for leaf in draft.checkpoints.leaves():
        if not isinstance(leaf.verifier, Check):
            continue
        try:
            validate_check(leaf.verifier)
        except BadTaskData as exc:
            yield _of_node(leaf, "checks", str(exc), "check")


def _coverage(draft: TaskDraft) -> Iterator[Violation]:
    asked = {spec.name for spec in draft.deliverables}
    seen: set[str] = set()
    for leaf in draft.checkpoints.leaves():
        for name in _looked_at(leaf):
            seen.add(name)
            if name not in asked:
                there = ", ".join(sorted(asked)) or "none"
                message = f"{name!r} is not a deliverable of the task; there are: {there}"
                yield _of_node(leaf, "deliverables_exist", message, "looks_at")
    for name in sorted(asked - seen):
        yield _of_tree("deliverables_covered", f"no leaf looks at the deliverable {name!r}")


def _looked_at(leaf: Checkpoint) -> tuple[str, ...]:
    if isinstance(leaf.verifier, Judge):
        return leaf.verifier.deliverables
    if isinstance(leaf.verifier, Check) and leaf.verifier.deliverable is not None:
        return (leaf.verifier.deliverable,)
    return ()


def _of_tree(rule: str, message: str) -> Violation:
    return Violation(field=of_tree(), rule=rule, message=message)


def _of_node(node: Checkpoint, rule: str, message: str, part: str) -> Violation:
    return Violation(field=in_tree(node.id, part), rule=rule, message=message)
