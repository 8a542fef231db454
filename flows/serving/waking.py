"""How stages of a served night find each other: adopt, reschedule, wake.

A night calls each stage as a deployment with an idempotency key, so that a retry of the night
meets the same stage run again: completed, it is skipped; failed, it is put back to Scheduled under
its own id. A stage that completes wakes a night that has failed. One click on Retry on the failed
stage therefore re-runs that stage alone, and the rest of the night follows.
"""

import os
import time
from typing import Any

import httpx
from prefect import Flow, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.deployments import run_deployment
from prefect.states import Scheduled

from taskdata.errors import NightshiftError, StageFailed

_POLL_SECONDS = 1.0


class ServiceGone(NightshiftError):
    """`nightshift serve` has ended and left this process of its behind."""


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


class Service:
    """The `nightshift serve` that this process is a flow run of; it runs the stages of a night.

    It starts every flow run as a process of its own, which outlives it where it is killed.
    """

    def __init__(self) -> None:
        """Take the process that has started this one for the service."""
        self._process = os.getppid()

    def call(self, deployment: str, key: str, run_name: str, parameters: dict[str, Any]) -> None:
        """Run a stage's deployment to its end, adopting the run that an earlier attempt started.

        Raises:
            StageFailed: if the stage ends without completing; carries its message.
            ServiceGone: if the service ends before the stage.
        """
        try:
            state = self._end_of(deployment, key, run_name, parameters)
        except httpx.TransportError:
            # The Prefect server ends with the service, and may do so first.
            self.require_alive()
            raise
        if not state.is_completed():
            raise StageFailed(f"{run_name} ended as {state.name}: {state.message or 'no message'}")

    def _end_of(
        self, deployment: str, key: str, run_name: str, parameters: dict[str, Any]
    ) -> State[Any]:
        # Prefect types it as returning a coroutine where one is awaited; here it is not.
        started: Any = run_deployment(
            deployment,
            parameters=parameters,
            as_subflow=True,
            flow_run_name=run_name,
            timeout=0,
            idempotency_key=key,
        )
        state: State[Any] | None = started.state
        with get_client(sync_client=True) as api:
            if state is not None and state.is_completed():
                return state
            if state is not None and state.is_final():
                api.set_flow_run_state(started.id, Scheduled(name="AwaitingRetry"))
            while True:
                self.require_alive()
                state = api.read_flow_run(started.id).state
                if state is not None and state.is_final():
                    return state
                time.sleep(_POLL_SECONDS)

    def require_alive(self) -> None:
        """Raise `ServiceGone` if the service has ended."""
        if os.getppid() != self._process:
            raise ServiceGone("`nightshift serve` has ended; serve again, and retry this flow run")
