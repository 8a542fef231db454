"""How a checkpoint tree looks on a terminal."""

from typing import TYPE_CHECKING

from flows.cli import console

if TYPE_CHECKING:
    from taskdata.schema.checkpoint import Checkpoint


def write_tree(node: "Checkpoint", indent: int = 1) -> None:
    """Write a tree, one line per node: weight, requirement, and how a leaf is verified."""
    how = ""
    if node.verifier is not None:
        how = f"  <{getattr(node.verifier, 'name', node.verifier.kind)}>"
    console.say(f"{'  ' * indent}{node.weight:g} x {node.requirement}{how}")
    for child in node.children:
        write_tree(child, indent + 1)
