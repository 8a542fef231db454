"""The status of a run or refresh as it is shown: it depends on whether a process works on it."""

from flows.config import Settings
from flows.locks import is_worked_on
from taskdata.schema.construct import Refresh, RefreshStatus
from taskdata.schema.run import Run
from taskdata.store import Store


def refresh_status_of(settings: Settings, store: Store, refresh: Refresh) -> str:
    """Return the refresh's status; one without a process that works on it was interrupted."""
    if refresh.status is RefreshStatus.RUNNING and not is_worked_on(settings, refresh.id):
        found = store.refresh(refresh.id).status
        return "interrupted" if found is RefreshStatus.RUNNING else found.value
    return refresh.status.value


def status_of(settings: Settings, store: Store, run: Run) -> str:
    """Return the run's status; a run without a process that works on it was interrupted."""
    if run.status == "running" and not is_worked_on(settings, run.id):
        # It may have ended since it was read: its lock is given back after that.
        found = store.run(run.id).status
        return "interrupted" if found == "running" else found.value
    return run.status.value
