"""A retry of a single stage belongs to its night and resumes the night."""

from contextlib import nullcontext
from types import SimpleNamespace

import httpx
import pytest
from prefect.states import Cancelled, Completed, Crashed, Failed, Pending, Running, Scheduled

from flows.serving import waking
from flows.serving.waking import Service, ServiceGone, wake_parent
from taskdata.errors import StageFailed


class Api:
    """The part of Prefect's API with the states of flow runs; it records the states it is sent."""

    def __init__(self, *states):
        self.states = list(states)
        self.told = []
        self.started = []
        self.parents = {"task": "night"}

    def run_deployment(self, deployment, **details):
        self.started.append((deployment, details))
        return SimpleNamespace(id="stage", state=self.states.pop(0))

    def read_flow_run(self, _flow_run_id):
        return SimpleNamespace(state=self._next())

    def read_task_run(self, task_run_id):
        return SimpleNamespace(flow_run_id=self.parents[task_run_id])

    def set_flow_run_state(self, flow_run_id, state):
        self.told.append((flow_run_id, state.type.value, state.name))

    def _next(self):
        state = self.states.pop(0)
        if isinstance(state, Exception):
            raise state
        return state


@pytest.fixture
def asked(monkeypatch):
    """Have the code ask an API in which a flow run has these states, one after the other."""

    def ask(*states) -> Api:
        api = Api(*states)
        monkeypatch.setattr(waking, "_POLL_SECONDS", 0)
        monkeypatch.setattr(waking, "run_deployment", api.run_deployment)
        monkeypatch.setattr(waking, "get_client", lambda sync_client: nullcontext(api))
        return api

    return ask


def call():
    Service().call("score/score", "night:score-0", "score-0-r", {"run_id": "r", "round": 0})


def test_a_stage_is_run_to_its_end_under_the_key_of_its_night(asked):
    api = asked(Scheduled(), Pending(), Running(), Completed())
    call()
    ((deployment, details),) = api.started
    assert (deployment, details["flow_run_name"]) == ("score/score", "score-0-r")
    assert details["idempotency_key"] == "night:score-0"
    assert details["parameters"] == {"run_id": "r", "round": 0}
    assert details["as_subflow"]
    assert api.told == []


def test_a_stage_that_completed_before_the_retry_of_its_night_is_not_begun_again(asked):
    api = asked(Completed())
    call()
    assert (api.told, api.states) == ([], [])


@pytest.mark.parametrize("ended", [Failed(), Crashed(), Cancelled()])
def test_a_stage_that_had_failed_is_begun_again_as_the_same_flow_run(asked, ended):
    api = asked(ended, Running(), Completed())
    call()
    assert api.told == [("stage", "SCHEDULED", "AwaitingRetry")]


def test_a_stage_that_ends_without_completing_fails_its_night_with_its_words(asked):
    asked(Scheduled(), Failed(message="none of 4 trials could be done"))
    with pytest.raises(StageFailed, match=r"score-0-r ended as Failed: none of 4 trials could"):
        call()


@pytest.mark.parametrize("state", [Running(), httpx.ConnectError("gone")])
def test_a_night_whose_service_has_ended_says_what_to_do(asked, monkeypatch, state):
    asked(Scheduled(), state)
    parents = iter([100, 1, 1])
    monkeypatch.setattr(waking.os, "getppid", lambda: next(parents))
    with pytest.raises(ServiceGone, match="serve again, and retry this flow run"):
        call()


def test_a_server_that_is_away_while_the_service_lives_is_no_end_of_the_service(asked):
    asked(Scheduled(), httpx.ConnectError("refused"))
    with pytest.raises(httpx.ConnectError):
        call()


def stage_run(**changes):
    return SimpleNamespace(**{"parent_task_run_id": "task", "deployment_id": "score"} | changes)


@pytest.mark.parametrize("ended", [Failed(), Crashed()])
def test_a_stage_that_completes_wakes_the_night_that_failed(asked, ended):
    api = asked(ended)
    wake_parent(None, stage_run(), Completed())
    assert api.told == [("night", "SCHEDULED", "AwaitingRetry")]


@pytest.mark.parametrize("state", [Running(), Completed(), Cancelled(), None])
def test_a_night_that_goes_on_or_was_ended_is_let_alone(asked, state):
    api = asked(state)
    wake_parent(None, stage_run(), Completed())
    assert api.told == []


@pytest.mark.parametrize("changes", [{"parent_task_run_id": None}, {"deployment_id": None}])
def test_a_stage_of_no_served_night_wakes_none(asked, changes):
    api = asked()
    wake_parent(None, stage_run(**changes), Completed())
    assert api.told == []
