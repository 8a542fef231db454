"""Checkpoint trees as GTA-Workflow publishes them: `id`, `requirements`, `weight`, `sub_tasks`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from taskdata.formats.rows import MAX_NODES, RowNotes, refusal, slug
from taskdata.schema.checkpoint import Checkpoint, Judge, Verifier

OURS = "nightshift"
"""Key under which our own exports keep what the format has no field for."""

_WHOLE = "The deliverables do all that the request asks for."
_FIELDS = {"id", "requirements", "weight", "sub_tasks", OURS}
_VERIFIER: TypeAdapter[Verifier] = TypeAdapter(Verifier)


@dataclass
class _Tree:
    notes: RowNotes
    deliverables: tuple[str, ...]
    taken: set[str] = field(default_factory=set)


def read_tree(given: Any, deliverables: tuple[str, ...], root: Any, notes: RowNotes) -> Checkpoint:
    """Return the tree; every leaf is judged unless an export of ours says how it is verified.

    A list is wrapped into a root, a mapping without `sub_tasks` is the only child of a root, empty
    or null `sub_tasks` make a leaf, and a missing weight is 1.

    Args:
        given: The item's `sub_tasks`.
        deliverables: Files that a judge is shown.
        root: What our own exports say of the wrapped root; None elsewhere.
        notes: Where the rest is kept.

    Raises:
        RowRefused: if it is no tree, or a weight is no finite number of at least 0.
    """
    tree = _Tree(notes, deliverables)
    _require_few(given)
    if isinstance(given, Mapping) and "sub_tasks" in given:
        return _node(tree, "sub_tasks", given, _WHOLE)
    children = given if isinstance(given, list) else [given]
    wrapper = {"id": "root", "requirements": _WHOLE, "sub_tasks": children}
    if isinstance(root, Mapping):
        wrapper |= {key: root[key] for key in root.keys() & (_FIELDS - {"sub_tasks"})}
    elif not children:
        notes.assumed["sub_tasks.requirements"] += 1
    return _node(tree, "sub_tasks", wrapper, _WHOLE)


def _require_few(given: Any) -> None:
    """Count the nodes without recursion before anything is built of them."""
    count, waiting = 0, [given]
    while waiting:
        node = waiting.pop()
        nodes = node if isinstance(node, list) else [node]
        count += len(nodes)
        if count > MAX_NODES:
            raise refusal("sub_tasks", f"the tree has more than {MAX_NODES} nodes")
        waiting += [n["sub_tasks"] for n in nodes if isinstance(n, Mapping) and n.get("sub_tasks")]


def _node(tree: _Tree, where: str, given: Any, above: str) -> Checkpoint:
    if not isinstance(given, Mapping):
        raise refusal(where, "a node must be a mapping", given)
    children = given.get("sub_tasks") or []
    if not isinstance(children, list):
        raise refusal(f"{where}.sub_tasks", "must be a list of nodes", children)
    requirement = _requirement(where, given.get("requirements"))
    if not requirement:
        tree.notes.assumed["sub_tasks.requirements"] += 1
        requirement = above
    ours = given.get(OURS) or {}
    if not isinstance(ours, Mapping):
        raise refusal(f"{where}.{OURS}", "must be a mapping", ours)
    node_id = _id(tree, where, given, ours)
    below = tuple(
        _node(tree, f"{where}.{n}", child, requirement) for n, child in enumerate(children)
    )
    return Checkpoint(
        id=node_id,
        requirement=requirement,
        weight=_weight(where, given.get("weight")),
        verifier=None if below else _verifier(tree, requirement, ours),
        children=below,
        **{key: ours[key] for key in ("rule", "passes_from") if key in ours},
    )


def _requirement(where: str, given: Any) -> str:
    """Return a requirement, which may be stated as several lines; empty if there is none."""
    if given is None or isinstance(given, str):
        return given or ""
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise refusal(f"{where}.requirements", "must be a text, or a list of texts", given)
    return "\n".join(line.strip() for line in given if line.strip())


def _id(tree: _Tree, where: str, given: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Return the node's id as a slug that is unique in the tree; the published one is kept."""
    published = given.get("id")
    node_id: str
    if isinstance(ours.get("id"), str):
        node_id = ours["id"]
    else:
        base = _readable_slug(published)
        node_id, number = base, 1
        while node_id in tree.taken:
            number += 1
            node_id = f"{base}-{number}"
    tree.taken.add(node_id)
    if "id" in given and not ours and published != node_id:
        tree.notes.keep(f"{where}.id", published)
    tree.notes.keep_rest(given, _FIELDS, f"{where}.")
    return node_id


def _readable_slug(published: Any) -> str:
    text = str(published) if isinstance(published, str | int | float) else "node"
    dashed = text.strip().lower().replace(".", "-").replace(" ", "-")
    return slug(dashed[:200] or "node")[:70].rstrip("-")


def _weight(where: str, given: Any) -> float:
    if given is None:
        return 1.0
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise refusal(f"{where}.weight", "must be a number of at least 0", given)
    if not 0 <= given <= sys.float_info.max:
        raise refusal(f"{where}.weight", "must be a finite number of at least 0", given)
    return float(given)


def _verifier(tree: _Tree, requirement: str, ours: Mapping[str, Any]) -> Verifier:
    if "verifier" in ours:
        return _VERIFIER.validate_python(ours["verifier"])
    return Judge(rubric=requirement, deliverables=tree.deliverables)
