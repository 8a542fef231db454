"""The status of a run as it is shown, which depends on whether a process is working on it."""

from flows.config import Settings
from flows.locks import is_worked_on
from taskdata.schema.run import Run
from taskdata.store import Store


def status_of(settings: Settings, store: Store, run: Run) -> str:
    """Return the run's status; a run without a process that works on it was interrupted."""
    if run.status == "running" and not is_worked_on(settings, run.id):
        # It may have ended since it was read: its lock is given back after that.
        found = store.run(run.id).status
        return "interrupted" if found == "running" else found.value
    return run.status.value
