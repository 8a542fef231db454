"""Withdraw a task: later runs and releases leave it out, and say why."""

from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from taskdata.banks.found import LoadedBank, find_bank
from taskdata.errors import Misuse
from taskdata.schema.withdrawal import Reason, Withdrawal
from taskdata.store import Store


def withdraw(store: Store, bank: str, task_id: str, reason: str) -> tuple[Withdrawal, ...]:
    """Store tombstones of a task and return them; one that is there already stays as it is.

    Args:
        store: The store of the tombstones.
        bank: A bundled bank, a folder or the name of a stored bank: the task is withdrawn as it is
            now and as releases of the bank have held it. `bank@version` or a hash: only as that
            release holds it.
        task_id: The task.
        reason: Why no agent should be measured on it.

    Raises:
        Misuse: if the reason is blank or too long, or the bank or the task is unknown.
        BadTaskData: if the task is malformed.
    """
    try:
        stated = TypeAdapter(Reason).validate_python(reason)
    except ValidationError as exc:
        raise Misuse(f"--reason {reason[:40]!r}: expected 1 to 500 characters") from exc
    now = datetime.now(UTC)
    made = (
        Withdrawal(task_hash=h, task_id=task_id, bank=bank, reason=stated, withdrawn_at=now)
        for h in _hashes(store, bank, task_id)
    )
    withdrawn = {tombstone.task_hash: tombstone for tombstone in made}
    store.add_withdrawals(withdrawn.values())
    stored = store.withdrawals()
    return tuple(stored[task_hash] for task_hash in withdrawn)


def _hashes(store: Store, bank: str, task_id: str) -> list[str]:
    """Return the content hashes under which the bank holds or has held the task."""
    earlier = store.versions_of_task(bank, task_id)
    try:
        found = find_bank(store, bank, [task_id])
    except Misuse:
        # The newest release need not hold the task.
        if earlier:
            return earlier
        raise
    current = [task.content_hash for task in found.tasks([task_id])]
    if not current:
        raise Misuse(f"bank {bank!r} has no task {task_id!r}; `nightshift bank list` names them")
    if isinstance(found, LoadedBank):
        earlier = store.versions_of_task(found.bank.name, task_id)
    return list(dict.fromkeys(current + earlier))
