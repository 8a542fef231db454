"""Converts filled-in forms to drafts, and drafts to the form in which prompts show them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from stages.construct.answers.forms import DraftForm, NodeForm, TaskForm
from stages.construct.answers.json_text import read_json
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Checkpoint, Judge, Verifier
from taskdata.schema.construct import TaskDraft
from taskdata.schema.task import Task

_MAX_LEVELS = 6
_MAX_ARGS_BYTES = 20_000


def draft_of(form: DraftForm) -> TaskDraft:
    """Return the draft that a form describes.

    Raises:
        BadTaskData: if its nodes do not form a tree; names the node and the field.
    """
    fields = {name: getattr(form, name) for name in TaskForm.model_fields}
    return _draft(fields | {"checkpoints": tree_of(form.checkpoints)})


def draft_without_tree(form: TaskForm) -> TaskDraft:
    """Return the draft that a form describes, with a tree that is only a root to be replaced."""
    root = Checkpoint(id="root", requirement="-", verifier=Judge(rubric="-"))
    fields = {name: getattr(form, name) for name in TaskForm.model_fields}
    return _draft(fields | {"checkpoints": root})


def rewritten(draft: TaskDraft, form: TaskForm) -> TaskDraft:
    """Return `draft` with the form's values; its tree, answer and reference stay."""
    fields = {name: getattr(draft, name) for name in TaskDraft.model_fields}
    return _draft(fields | {name: getattr(form, name) for name in TaskForm.model_fields})


def tree_of(nodes: Sequence[NodeForm]) -> Checkpoint:
    """Return the tree that the nodes form.

    Raises:
        BadTaskData: if there is not one root, a parent is unknown, a node is its own ancestor, the
            tree is too deep, or a node's verifier does not fit it.
    """
    ids = [node.id for node in nodes]
    for position, node in enumerate(nodes):
        if node.id in ids[:position]:
            raise _bad(node, "id", "is taken by another node")
        if node.parent and node.parent not in ids:
            raise _bad(node, "parent", f"{node.parent!r} is not the id of a node")
    roots = [node for node in nodes if not node.parent]
    if len(roots) != 1:
        raise BadTaskData(
            f"checkpoints: {len(roots)} nodes have no parent; exactly one is the root"
        )
    children: dict[str, list[NodeForm]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    placed: list[str] = []
    tree = _node(roots[0], children, placed, 1)
    for node in nodes:
        if node.id not in placed:
            raise _bad(node, "parent", "leads in a circle instead of to the root")
    return tree


def shown_task(draft: TaskDraft) -> dict[str, Any]:
    """Return the draft without its tree in the form of a `TaskForm`."""
    return draft.model_dump(mode="json", include=set(TaskForm.model_fields))


def shown_nodes(tree: Checkpoint, parent: str = "") -> list[dict[str, Any]]:
    """Return the tree in the form of a `TreeForm`, depth first."""
    shown: dict[str, Any] = {
        "id": tree.id,
        "parent": parent,
        "requirement": tree.requirement,
        "weight": tree.weight,
        "verifier": "group",
        "check": "",
        "args": "",
        "rubric": "",
        "looks_at": [],
    }
    nodes = [shown | _shown_verifier(tree.verifier)]
    for child in tree.children:
        nodes += shown_nodes(child, tree.id)
    return nodes


def shown_draft(draft: TaskDraft) -> dict[str, Any]:
    """Return the draft in the form of a `DraftForm`."""
    return shown_task(draft) | {"checkpoints": shown_nodes(draft.checkpoints)}


def draft_from(task: Task) -> TaskDraft:
    """Return a finished task as a draft, without its answer and reference."""
    names = set(TaskDraft.model_fields) - {"files", "answer", "reference"}
    fields = {name: getattr(task, name) for name in names}
    return _draft(fields | {"files": tuple(file.path for file in task.files)})


def _draft(fields: Mapping[str, Any]) -> TaskDraft:
    plain = dict(fields)
    plain["deliverables"] = [d.model_dump() for d in plain["deliverables"]]
    try:
        return TaskDraft.model_validate(plain)
    except ValidationError as exc:
        raise BadTaskData(describe(exc)) from exc


def _node(
    node: NodeForm, children: Mapping[str, Sequence[NodeForm]], placed: list[str], level: int
) -> Checkpoint:
    if level > _MAX_LEVELS:
        raise _bad(node, "parent", f"lies deeper than {_MAX_LEVELS} levels")
    placed.append(node.id)
    below = children.get(node.id, ())
    if node.verifier == "group" and not below:
        raise _bad(node, "verifier", "a group needs nodes below it; a leaf needs a check or judge")
    if node.verifier != "group" and below:
        raise _bad(node, "verifier", "a node with others below it is a group")
    fields = {"id": node.id, "requirement": node.requirement, "weight": node.weight}
    try:
        return Checkpoint.model_validate(
            fields
            | {
                "verifier": _verifier(node),
                "children": tuple(_node(child, children, placed, level + 1) for child in below),
            }
        )
    except ValidationError as exc:
        raise BadTaskData(f"checkpoint {node.id!r}: {describe(exc)}") from exc


def _verifier(node: NodeForm) -> Verifier | None:
    if node.verifier == "group":
        return None
    if node.verifier == "judge":
        if not node.rubric.strip():
            raise _bad(node, "rubric", "a judge needs a rubric")
        return Judge(rubric=node.rubric, deliverables=node.looks_at)
    if len(node.looks_at) > 1:
        raise _bad(node, "looks_at", "a check looks at one deliverable, or at the final answer")
    if not node.check:
        raise _bad(node, "check", "is empty; name a check of the library")
    return Check.model_validate(
        {
            "name": node.check,
            "deliverable": node.looks_at[0] if node.looks_at else None,
            "args": _args(node),
        }
    )


def _args(node: NodeForm) -> dict[str, Any]:
    if not node.args.strip():
        return {}
    try:
        args = read_json(node.args, max_bytes=_MAX_ARGS_BYTES)
    except BadTaskData as exc:
        raise _bad(node, "args", str(exc)) from exc
    if not isinstance(args, dict):
        raise _bad(node, "args", "must be a JSON object in a text")
    return args


def _shown_verifier(verifier: Verifier | None) -> dict[str, Any]:
    if isinstance(verifier, Check):
        return {
            "verifier": "check",
            "check": verifier.name,
            "args": json.dumps(verifier.model_dump(mode="json")["args"], ensure_ascii=False),
            "looks_at": [verifier.deliverable] if verifier.deliverable else [],
        }
    if isinstance(verifier, Judge):
        return {
            "verifier": "judge",
            "rubric": verifier.rubric,
            "looks_at": list(verifier.deliverables),
        }
    return {} if verifier is None else {"verifier": verifier.kind}


def _bad(node: NodeForm, field: str, why: str) -> BadTaskData:
    return BadTaskData(f"checkpoint {node.id!r}: field {field}: {why}")
