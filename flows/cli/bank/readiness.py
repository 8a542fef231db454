"""What the tasks of a bank need and do not find here."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flows.cli import console

if TYPE_CHECKING:
    from stages.prepare.needs import Need
    from taskdata.banks.found import FoundBank
    from taskdata.schema.task import Task
    from taskdata.store import Store


def missing_needs(
    store: "Store", bank: "FoundBank", tasks: "Sequence[Task]", name: str
) -> "list[list[Need]]":
    """Return each task's needs that this machine lacks; `name` is the bank's, as given."""
    from flows.cli.bank.pool_servers import reader_of
    from flows.config import load_settings, run_config
    from stages.prepare.needs import task_needs

    settings = load_settings()
    config = run_config(settings)

    read = reader_of(store, bank)
    needs = (task_needs(task, read, settings.home, config.sandbox, config, name) for task in tasks)
    return [[need for need in of_task if not need.is_met] for of_task in needs]


def readiness(store: "Store", name: str) -> dict[str, Any]:
    """Return which tasks of a bank are ready, and what the others lack, for JSON."""
    from taskdata.banks.found import find_bank

    bank = find_bank(store, name)
    tasks = list(bank.tasks())
    missing = missing_needs(store, bank, tasks, name)
    listed = [
        {"task": task.id, "missing": [need.model_dump() for need in needs]}
        for task, needs in zip(tasks, missing, strict=True)
    ]
    return {"name": name, "tasks": listed, "ready": sum(not needs for needs in missing)}


def write_readiness(bank: dict[str, Any]) -> None:
    """Write how many tasks are ready, and how many lack what."""
    tasks = bank["tasks"]
    console.say(f"Bank {bank['name']}: {bank['ready']} of {len(tasks)} tasks ready")
    lacking = Counter(
        (need["kind"], need["name"], need["state"]) for task in tasks for need in task["missing"]
    )
    rows = [
        {"tasks": str(count), "missing": f"{kind} {name}", "why": state}
        for (kind, name, state), count in lacking.most_common()
    ]
    if rows:
        console.table(rows, title="What tasks lack")
