"""Commands that look at task banks."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.reading import JsonOption

if TYPE_CHECKING:
    from taskdata.schema.checkpoint import Checkpoint
    from taskdata.schema.task import Task

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

BankOption = Annotated[str, typer.Option(help="Bundled bank, or a folder of tasks.")]


@app.command("list")
def list_tasks(bank: BankOption = "starter", as_json: JsonOption = False) -> None:
    """List the tasks of a bank."""
    from taskdata.banks.loader import bundled_banks, load_bank

    tasks = load_bank(bank).tasks
    if as_json:
        console.write_json({"bank": bank, "tasks": [_outline(task) for task in tasks]})
        return
    rows = [
        {
            "task": task.id,
            "tier": task.tier.value,
            "category": task.category.value,
            "title": task.title,
            "leaves": str(len(task.checkpoints.leaves())),
            "by code": f"{task.checkpoints.checkable_share():.0%}",
            "deliverables": ", ".join(d.name for d in task.deliverables) or "answer",
        }
        for task in tasks
    ]
    others = ", ".join(name for name in bundled_banks() if name != bank)
    console.table(rows, title=f"Bank {bank}: {len(tasks)} tasks")
    if others:
        console.say(f"Other bundled banks: {others}")


@app.command()
def show(
    task_id: Annotated[str, typer.Argument(help="Task id, as in `bank list`.")],
    bank: BankOption = "starter",
    as_json: JsonOption = False,
) -> None:
    """Show one task: query, files, tools, deliverables and checkpoint tree."""
    from taskdata.banks.loader import load_bank

    (task,) = load_bank(bank, [task_id]).tasks
    if as_json:
        console.write_json(task.model_dump(mode="json") | {"hash": task.content_hash})
        return
    console.say(f"{task.title} ({task.tier.value}, {task.category.value})")
    console.say(f"Hash {task.content_hash}; about {task.human_minutes} minutes for a person\n")
    console.say(task.query)
    console.say("Files:        " + (", ".join(f.path for f in task.files) or "none"))
    console.say("Tools:        " + ", ".join(task.tools))
    console.say("Deliverables: " + (", ".join(d.name for d in task.deliverables) or "the answer"))
    console.say("Checkpoints:")
    _tree(task.checkpoints)


def _outline(task: "Task") -> dict[str, object]:
    return {
        "id": task.id,
        "hash": task.content_hash,
        "tier": task.tier.value,
        "category": task.category.value,
        "capabilities": [c.value for c in task.capabilities],
        "title": task.title,
        "deliverables": [d.name for d in task.deliverables],
        "leaves": len(task.checkpoints.leaves()),
        "depth": task.checkpoints.depth(),
        "checkable_share": task.checkpoints.checkable_share(),
    }


def _tree(node: "Checkpoint", indent: int = 1) -> None:
    how = ""
    if node.verifier is not None:
        how = f"  <{getattr(node.verifier, 'name', node.verifier.kind)}>"
    console.say(f"{'  ' * indent}{node.weight:g} x {node.requirement}{how}")
    for child in node.children:
        _tree(child, indent + 1)
