"""How stages of a served night find each other: adopt, reschedule, wake.

A night calls each stage as a deployment with an idempotency key, so that a retry of the night
meets the same stage run again: completed, it is skipped; failed, it is put back to Scheduled under
its own id. A stage that completes wakes a night that has failed. One click on Retry on the failed
stage therefore re-runs that stage alone, and the rest of the night follows.
"""

import time
from typing import Any
from uuid import UUID

from prefect import Flow, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.deployments import run_deployment
from prefect.states import Scheduled

from taskdata.errors import StageFailed

_POLL_SECONDS = 1.0


def wake_parent(flow: Flow[Any, Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Put a failed or crashed night back to Scheduled once one of its stages has completed."""
    if flow_run.parent_task_run_id is None or flow_run.deployment_id is None:
        return
    with get_client(sync_client=True) as api:
        parent_id = api.read_task_run(flow_run.parent_task_run_id).flow_run_id
        if parent_id is None:
            return
        parent = api.read_flow_run(parent_id).state
        if parent is not None and (parent.is_failed() or parent.is_crashed()):
            api.set_flow_run_state(parent_id, Scheduled(name="AwaitingRetry"))


def call_deployed(deployment: str, key: str, run_name: str, parameters: dict[str, Any]) -> None:
    """Run a stage's deployment to its end, adopting the run that an earlier attempt started.

    Raises:
        StageFailed: if the stage ends without completing; carries its message.
    """
    # Prefect types this function as returning a coroutine where one is awaited; here it is not.
    started: Any = run_deployment(
        deployment,
        parameters=parameters,
        as_subflow=True,
        flow_run_name=run_name,
        timeout=0,
        idempotency_key=key,
    )
    with get_client(sync_client=True) as api:
        state = started.state
        if state is not None and state.is_completed():
            return
        if state is not None and state.is_final():
            api.set_flow_run_state(started.id, Scheduled(name="AwaitingRetry"))
        state = _await_end(api, started.id)
    if not state.is_completed():
        raise StageFailed(f"{run_name} ended as {state.name}: {state.message or 'no message'}")


def _await_end(api: Any, flow_run_id: UUID) -> State[Any]:
    while True:
        state: State[Any] | None = api.read_flow_run(flow_run_id).state
        if state is not None and state.is_final():
            return state
        time.sleep(_POLL_SECONDS)
