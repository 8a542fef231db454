"""Start a run: find the bank, release it, and store what is to be evaluated."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from environments.models.registry import require_limited
from stages.execute.harness import AsPlanner, in_plan_mode
from stages.prepare.modes import in_mode_of
from taskdata.banks.found import FoundBank, LoadedBank, find_bank
from taskdata.errors import Misuse
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.task import Category, Task
from taskdata.store import Store
from taskdata.version import code_version


def new_run_id() -> str:
    """Return an id that sorts by time and is short enough to type."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def select(
    store: Store,
    config: RunConfig,
    run_id: str,
    flow_run_id: str | None = None,
    as_planner: AsPlanner = in_plan_mode,
) -> Run:
    """Return the run of that id; a new run is stored first, with a release of its bank.

    A bank that is a release already is evaluated as that release, unless `config.tasks` names
    some of its tasks: these are a release of their own. Its configuration is stored with the
    version that was found: `office` and `office@latest` become such as `office@3`. `flow_run_id`
    is noted on a new run. `as_planner` makes its agents planners if its tasks are planning cases.

    Raises:
        Misuse: if the bank or one of its tasks is unknown, a task that `config.tasks` names was
            withdrawn, limits would apply to no provider, or planning cases and tasks to be done
            are mixed.
        BadTaskData: if a task is malformed.
    """
    known = store.find_run(run_id)
    if known is not None:
        return known
    require_limited(config.limits)
    bank = find_bank(store, config.bank, config.tasks)
    run = Run(
        id=run_id,
        status=RunStatus.RUNNING,
        config=in_mode_of(bank, _with_version(config, bank), as_planner=as_planner),
        release_hash=_release_hash(store, config, bank),
        code_version=code_version(),
        created_at=datetime.now(UTC),
        flow_run_id=flow_run_id,
    )
    store.add_run(run)
    return run


def chosen_tasks(store: Store, config: RunConfig) -> list[Task]:
    """Return the tasks that a run of that configuration would evaluate; stores nothing.

    Raises:
        Misuse: if the bank or one of its tasks is unknown, or a task that is named was withdrawn.
        BadTaskData: if a task is malformed.
    """
    bank = find_bank(store, config.bank, config.tasks)
    tasks = bank.bank.tasks if isinstance(bank, LoadedBank) else list(bank.tasks(config.tasks))
    _require_valid(store, tasks, config)
    withdrawn = store.withdrawals()
    return sampled([task for task in tasks if task.content_hash not in withdrawn], config.sample)


def _require_valid(store: Store, tasks: Sequence[Task], config: RunConfig) -> None:
    """Raise `Misuse` if a task that the configuration names was withdrawn."""
    withdrawn = store.withdrawals() if config.tasks else {}
    for task in tasks if withdrawn else ():
        if (tombstone := withdrawn.get(task.content_hash)) is not None:
            raise Misuse(
                f"task {task.id!r} of bank {config.bank!r} was withdrawn on {tombstone.told}"
            )


def _with_version(config: RunConfig, bank: FoundBank) -> RunConfig:
    if isinstance(bank, LoadedBank):
        return config
    return config.model_copy(update={"bank": bank.name})


def _release_hash(store: Store, config: RunConfig, bank: FoundBank) -> str:
    if isinstance(bank, LoadedBank):
        if not bank.bank.tasks:
            raise Misuse(f"bank {config.bank!r} holds no task")
        _require_valid(store, bank.bank.tasks, config)
        tasks = sampled(_open_to_sampling(store, config, bank.bank.tasks), config.sample)
        return store.add_release(bank.bank.name, tasks, bank.bank.files).hash
    if not config.tasks and config.sample is None:
        return bank.release.hash
    chosen = list(bank.tasks(config.tasks))
    _require_valid(store, chosen, config)
    tasks = sampled(_open_to_sampling(store, config, chosen), config.sample)
    return store.add_release(bank.release.bank, tasks, {}).hash


def _open_to_sampling(store: Store, config: RunConfig, tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the tasks a sample may take: withdrawn ones have no trial, and would shrink it.

    Without a sample the release stays what it is, so that runs of it can be compared.
    """
    if config.sample is None:
        return tasks
    withdrawn = store.withdrawals()
    return [task for task in tasks if task.content_hash not in withdrawn]


def sampled(tasks: Sequence[Task], of_each: int | None) -> list[Task]:
    """Return at most that many tasks of each category; None: all.

    The choice depends on the task ids alone, so that samples stay comparable as a bank grows.
    """
    chosen: list[Task] = []
    taken: Counter[Category] = Counter()
    for task in sorted(tasks, key=lambda task: hashlib.sha256(task.id.encode()).hexdigest()):
        if of_each is None or taken[task.category] < of_each:
            taken[task.category] += 1
            chosen.append(task)
    return sorted(chosen, key=lambda task: task.id)
