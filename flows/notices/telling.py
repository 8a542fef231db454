"""Telling people: a notice becomes an event, and automations of the server send it on.

Nothing here fails or delays what it is called from: the server sends, and an event that it does
not take is logged. Only what is served tells; whoever runs a command sees its outcome.
"""

import logging
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.runtime import deployment
from prefect.runtime import flow_run as this_flow_run

from flows.notices import wording
from flows.notices.wording import Notice
from flows.serving.dashboards import dashboard_url
from flows.serving.events import EventLost, emit
from flows.serving.prefect_server import given_server, ui_url
from taskdata.schema.night import Morning

_logger = logging.getLogger(__name__)

_MOST = 100
"""Regressions that an event carries: its size is limited."""

_GATE_FAILED = "GateFailed: "


def notify_regression(morning: Morning) -> None:
    """Tell of the regressions of a night that a re-run has confirmed, from its flow run."""
    changes = morning.confirmed_regressions
    if not changes or not deployment.id:
        return
    link = dashboard_url(morning.run_id) or _flow_run_link()
    notice = wording.confirmed_regression(morning.run_id, morning.baseline, changes, link)
    found = [change.model_dump(mode="json") for change in changes[:_MOST]]
    _send(notice, {"against": list(morning.baseline), "regressions": found})


def notify_review(refresh_id: str, bank: str, tasks: int) -> None:
    """Tell that this flow run, of a served refresh, waits for a person."""
    if deployment.id:
        _send(wording.waiting_review(refresh_id, bank, tasks, _flow_run_link()))


def tell_failed_night(flow: Flow[Any, Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Tell that a served night has failed; a hook of its flow."""
    if flow_run.deployment_id:
        _send(wording.failed_night(flow_run.name, state.message or "", _link(str(flow_run.id))))


def tell_failed_refresh(flow: Flow[Any, Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Tell that a served refresh has failed; a hook of its flow."""
    if flow_run.deployment_id:
        _send(wording.failed_refresh(flow_run.name, state.message or "", _link(str(flow_run.id))))


def tell_failed_gate(flow: Flow[Any, Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Tell that a stage of a served flow was stopped by a gate; a hook of its flow."""
    _, failed, cause = (state.message or "").partition(_GATE_FAILED)
    if flow_run.deployment_id and failed:
        parameters = flow_run.parameters
        about = str(parameters.get("run_id") or parameters.get("refresh_id") or flow_run.name)
        _send(wording.failed_gate(about, cause, _link(str(flow_run.id))))


def flow_run_link(ui: str, run_id: str) -> str:
    """Return the address of a flow run in the UI."""
    return f"{ui}/v2/runs/flow-run/{run_id}"


def _flow_run_link() -> str | None:
    return _link(str(this_flow_run.get_id()))


def _link(run_id: str) -> str | None:
    api = given_server()
    return flow_run_link(ui_url(api), run_id) if api else None


def _send(notice: Notice, details: dict[str, Any] | None = None) -> None:
    payload = {"subject": notice.subject, "text": notice.text} | (details or {})
    try:
        emit(notice.event, f"nightshift.{notice.kind}.{notice.about}", payload)
    except EventLost as exc:
        _logger.warning("nobody is told that %s: %s", notice.subject, exc)
