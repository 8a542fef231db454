"""The bank that a refresh builds on: its tasks, and the tools that it offers."""

from collections.abc import Iterable

from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.states import READY, tool_state
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from taskdata.banks.found import LoadedBank, find_bank
from taskdata.schema.construct import RefreshConfig
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolSpec
from taskdata.store import Store

OF_THE_SESSION = frozenset(
    {"claim_done", "sleep", "history", "handle_overlong_tool_outputs", "manage_context"}
)
"""Tools about the agent's own session, which are independent of the task."""


def base_tasks(store: Store, base: str | None) -> tuple[Task, ...]:
    """Return the tasks of the bank that a refresh builds on: bundled, a folder, a release.

    Raises:
        Misuse: if there is no such bank.
    """
    return () if base is None else _valid(store, find_bank(store, base).tasks())


def stored_base(store: Store, base: str | None) -> tuple[Task, ...]:
    """Return the tasks of the base after storing each by its hash; idempotent.

    Raises:
        Misuse: if there is no such bank.
    """
    if base is None:
        return ()
    bank = find_bank(store, base)
    if isinstance(bank, LoadedBank):
        store.add_release(bank.bank.name, bank.bank.tasks, bank.bank.files)
    return _valid(store, bank.tasks())


def _valid(store: Store, tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks that were not withdrawn: others are no models for new ones."""
    withdrawn = store.withdrawals()
    if not withdrawn:
        return tuple(tasks)
    return tuple(task for task in tasks if task.content_hash not in withdrawn)


def offered_tools(store: Store, config: RefreshConfig) -> tuple[ToolSpec, ...]:
    """Return the ready tools that the refresh's tasks may use, in the catalogue's order.

    Raises:
        Misuse: if there is no such base.
    """
    specs = tuple(
        tool.spec
        for name, tool in catalogue().items()
        # A task that cannot run here could not be proven either.
        if name not in OF_THE_SESSION and tool_state(name, sandbox=config.sandbox) == READY
    )
    if config.tools == "all":
        return specs
    used = {tool for task in base_tasks(store, config.base) for tool in task.tools}
    return tuple(spec for spec in specs if spec.name in used or spec.name in ALWAYS_PRESENT)
