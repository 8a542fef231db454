"""The schedule of a served home: every night that it inserts is evaluated, under its own id."""

from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import pytest

from flows.config import Settings
from flows.run_status import status_of
from taskdata.store import Store
from tests.soak import SOAKING

pytestmark = [pytest.mark.e2e, pytest.mark.soak, pytest.mark.timeout(900)]

NIGHTS = 3 if SOAKING else 2
"""The schedule inserts those of three days in one batch; each takes a minute of CPU time."""


@pytest.fixture
def served(tmp_path, command, serving):
    """`nightshift serve` with the default schedule, over one atomic task and two cheap agents."""
    home = tmp_path / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    task = next(t["id"] for t in listed if t["tier"] == "atomic")
    run = f"[run]\nagents = ['reference', 'nop']\ntasks = ['{task}']\nrefinement_rounds = 0\n"
    run += "workers = 1\n"
    with serving(home, run, 4798) as api:
        yield home, api


def test_the_nights_of_several_days_are_as_many_evaluations(served, command):
    home, api = served
    nights = api.wait("the schedule", lambda: scheduled(api), 120)
    assert {UUID(night["id"]).version for night in nights} == {7}
    for night in nights:
        begin_now(api, night)
    seen = set()

    def are_over():
        seen.update(statuses(home))
        states = {api.get(f"flow_runs/{night['id']}")["state"]["type"] for night in nights}
        assert not states & {"FAILED", "CRASHED", "CANCELLED"}
        return states == {"COMPLETED"}

    api.wait("these nights", are_over, 800)
    assert seen <= {"running", "completed"}, "a night between two stages is not interrupted"

    runs = command.read(home, "runs")["runs"]
    assert sorted(run["id"] for run in runs) == [expected_id(night) for night in nights]
    assert {run["status"] for run in runs} == {"completed"}
    for run in runs:
        trials = command.read(home, "show", "--run", run["id"])["trials"]
        assert [t["trial"]["run_id"] for t in trials] == [run["id"]] * 2
        assert all(t["score"] for t in trials)
        assert all(t["outcome"]["started_at"] >= run["created_at"] for t in trials)
    assert no_two_at_once(home)


def scheduled(api):
    """The first nights that the schedule has inserted, in order; None: not so many yet."""
    found = api.post(
        "flow_runs/filter",
        {
            "flows": {"name": {"any_": ["nightly_evaluation"]}},
            "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
            "sort": "EXPECTED_START_TIME_ASC",
        },
    )
    return found[:NIGHTS] if len(found) >= NIGHTS else None


def begin_now(api, night):
    """Do not wait for the day: the flow run stays the one that the schedule has inserted."""
    details = {"scheduled_time": datetime.now(UTC).isoformat()}
    state = {"type": "SCHEDULED", "state_details": details}
    api.post(f"flow_runs/{night['id']}/set_state", {"state": state, "force": True})


def statuses(home):
    settings, store = opened(home)
    found = {status_of(settings, store, run) for run in store.runs()}
    store.close()
    return found


def no_two_at_once(home):
    _settings, store = opened(home)
    spans = sorted((run.created_at, run.finished_at) for run in store.runs())
    store.close()
    return all(ended < begun for (_, ended), (begun, _) in pairwise(spans))


def opened(home):
    settings = Settings(home=home)
    return settings, Store.open(settings.address)


def expected_id(night):
    due = datetime.fromisoformat(night["expected_start_time"])
    return f"{due:%Y%m%d}-020000-{night['id'][-6:]}"
