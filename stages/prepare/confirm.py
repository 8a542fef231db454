"""A confirming re-run: the flagged agents on the flagged tasks of a night, once more.

It is a run of its own with an id derived from the night's, so that it is planned once, carried on
where it was interrupted, and listed with no other run.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from taskdata.schema.run import Run, RunStatus
from taskdata.store import Store
from taskdata.version import code_version

_RELEASE = "confirmation"
"""Name of the release that the flagged tasks form."""
_ONCE_MORE = {
    "purpose": "confirmation",
    "sample": None,
    "refinement_rounds": 0,
    "labeller": None,
    "labeller_base_url": None,
}
"""What the configuration of every re-run says, whatever that of its night does."""


def confirmation_id(run_id: str) -> str:
    """Return the id of the run that confirms a night."""
    return f"{run_id}-confirm"


def plan_confirmation(
    store: Store,
    night: Run,
    flagged: Mapping[str, Sequence[str]],
    repetitions: int,
    left_usd: float | None,
) -> Run:
    """Store the run that repeats flagged trials of a night, and return it; once only.

    Args:
        store: Where both are.
        night: What is confirmed: same judge, limits and tools' services.
        flagged: Agent -> ids of its tasks; at least one.
        repetitions: Trials of each agent on each of its tasks.
        left_usd: What is left of the night's `max_usd`; None: the night has no cap.
    """
    known = store.find_run(confirmation_id(night.id))
    if known is not None:
        return known
    wanted = {task for tasks in flagged.values() for task in tasks}
    tasks = [task for task in store.tasks_of_run(night.id).values() if task.id in wanted]
    narrowed = {
        "agents": tuple(agent for agent in night.config.agents if agent.name in flagged),
        "tasks": tuple(sorted(wanted)),
        "only": {agent: tuple(tasks) for agent, tasks in flagged.items()},
        "repetitions": repetitions,
        "max_usd": left_usd,
        "confirms": night.id,
    }
    run = Run(
        id=confirmation_id(night.id),
        status=RunStatus.RUNNING,
        config=night.config.model_copy(update=_ONCE_MORE | narrowed),
        # The night's own tasks, whatever has become of the bank since: their files are stored.
        release_hash=store.add_release(_RELEASE, tasks, {}).hash,
        code_version=code_version(),
        created_at=datetime.now(UTC),
        flow_run_id=night.flow_run_id,
    )
    store.add_run(run)
    return run
