"""Checkpoint trees as text."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flows.cli import console

if TYPE_CHECKING:
    from taskdata.schema.checkpoint import Checkpoint, Verifier

_SHOWN_LETTERS = 400


def write_tree(
    node: "Checkpoint", indent: int = 1, *, expected: bool = False, full: bool = False
) -> None:
    """Write a tree, one line per node: weight, requirement, and how a leaf is verified.

    Args:
        node: Its root.
        indent: Levels to set it in.
        expected: Say, too, what each verifier expects: the values, the rubric, the tools.
        full: Cut nothing of that.
    """
    verifier = node.verifier
    how = "" if verifier is None else f"  <{getattr(verifier, 'name', verifier.kind)}>"
    if node.rule == "all_required":
        how = f"  <all required, each from {node.passes_from:g}>"
    console.block(f"{node.weight:g} x {node.requirement}{how}", indent=2 * indent)
    if expected and verifier is not None:
        for line in _expectations(verifier):
            console.block(line if full else cut(line, _SHOWN_LETTERS), indent=2 * indent + 4)
    for child in node.children:
        write_tree(child, indent + 1, expected=expected, full=full)


def cut(text: str, letters: int) -> str:
    """Return a text, or its beginning and how to see the rest."""
    left = len(text) - letters
    return text if left <= 0 else f"{text[:letters]} [... {left:,} more characters; --full]"


def plain_value(value: Any) -> str:
    """Return a JSON value as a person writes it: texts without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _expectations(verifier: "Verifier") -> Iterator[str]:
    match verifier.kind:
        case "check":
            yield f"in {verifier.deliverable or 'the final answer'}"
            for name, value in verifier.args.items():
                yield f"{name}: {plain_value(value)}"
        case "judge":
            yield f"of {', '.join(verifier.deliverables) or 'the final answer'}"
            yield f"rubric: {verifier.rubric}"
        case "tool_result":
            yield f"called: {' or '.join(verifier.tools)}"
            if verifier.contains:
                yield f"its result has: {', '.join(verifier.contains)}"
        case "asked_again":
            yield f"calls again after the trial: {verifier.tool} {plain_value(verifier.arguments)}"
            yield f"{verifier.check.name} of {verifier.check.deliverable or 'the final answer'}"
            for name, value in verifier.check.args.items():
                yield f"{name}: {plain_value(value)}"
        case "script":
            yield f"program: {verifier.entry}, which says its verdict by {verifier.verdict}"
