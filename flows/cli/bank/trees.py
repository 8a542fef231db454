"""Checkpoint trees as text."""

from typing import TYPE_CHECKING

from dashboards.pages.expectations import expectations
from flows.cli import console

if TYPE_CHECKING:
    from taskdata.schema.checkpoint import Checkpoint

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
        for line in expectations(verifier):
            console.block(line if full else cut(line, _SHOWN_LETTERS), indent=2 * indent + 4)
    for child in node.children:
        write_tree(child, indent + 1, expected=expected, full=full)


def cut(text: str, letters: int) -> str:
    """Return a text, or its beginning and how to see the rest."""
    left = len(text) - letters
    return text if left <= 0 else f"{text[:letters]} [... {left:,} more characters; --full]"
