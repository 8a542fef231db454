"""The run, or the refresh, that belongs to a flow run: its id, and whether it is really its own."""

from datetime import UTC, datetime
from uuid import UUID

from prefect.runtime import flow_run

from taskdata.errors import StageFailed
from taskdata.schema.construct import Refresh
from taskdata.schema.run import Run

_TAIL_CHARACTERS = 6


def own_id() -> str:
    """Return the id of the run that this flow run works on; its retries get the same id.

    Prefect sets the expected start time of a flow run once, by its first state: neither a retry nor
    a wait for a free place changes it.
    """
    return id_of(UUID(str(flow_run.get_id())), flow_run.get_scheduled_start_time())


def id_of(flow_run_id: UUID, due: datetime) -> str:
    """Return when the flow run was due, in UTC, and the tail of its id.

    Prefect inserts scheduled flow runs in batches with UUIDs of version 7, which begin with the
    millisecond: only their tails differ.
    """
    return f"{due.astimezone(UTC):%Y%m%d-%H%M%S}-{flow_run_id.hex[-_TAIL_CHARACTERS:]}"


def require_own(found: Run | Refresh, flow_run_id: str) -> None:
    """Raise unless the run stored under this flow run's `own_id` was started by this flow run.

    Raises:
        StageFailed: another flow run has started it, or a command.
    """
    if found.flow_run_id == flow_run_id:
        return
    other = f"flow run {found.flow_run_id}" if found.flow_run_id else "no flow run"
    raise StageFailed(
        f"{found.id} is the id of flow run {flow_run_id}, but was started by {other} and is "
        f"{found.status}: nothing was done; start another run"
    )
