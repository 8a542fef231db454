"""The tasks a refresh builds on, with their files where every later stage finds them."""

from stages.construct.material.exemplars import base_tasks
from taskdata.banks.loader import load_bank
from taskdata.schema.task import Task
from taskdata.store import Store


def stored_base(store: Store, base: str | None) -> tuple[Task, ...]:
    """Return the tasks of the base bank, each of which the store now has by hash; idempotent.

    Raises:
        Misuse: if there is no such bank.
    """
    if base is None or store.find_release(base) is not None:
        return base_tasks(store, base)
    bank = load_bank(base)
    store.add_release(bank.name, bank.tasks, bank.files)
    return bank.tasks
