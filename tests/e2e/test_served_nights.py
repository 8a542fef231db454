"""A served home: every night that the schedule inserts is evaluated, under its own id.

One of them loses its scores: its stage is retried by one click in the Prefect UI, and the rest of
the night follows.
"""

import re
import shutil
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import pytest

from flows.config import Settings
from flows.run_status import status_of
from taskdata.store import Store
from tests.soak import at_length_only

pytestmark = [
    *(pytest.mark.e2e, pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(1200)),
    at_length_only,
]
"""In `make test`, `tests/flows/serving/` holds it part by part: `test_waking.py` what a retry does
to a stage and to its night, `test_deployments.py` what is served, `test_schedule.py` when."""

NIGHTS = 3
"""The schedule inserts those of three days in one batch; each takes a minute of CPU time."""


@pytest.fixture
def served(tmp_path, command, serving):
    """`nightshift serve` with the default schedule, over two atomic tasks and two cheap agents."""
    home = tmp_path / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    tasks = [t["id"] for t in listed if t["tier"] == "atomic"][:2]
    run = f"[run]\nagents = ['reference', 'nop']\ntasks = {tasks}\nrefinement_rounds = 0\n"
    run += "workers = 1\n"
    with serving(home, run, 4799) as api:
        yield home, api


def test_each_night_is_an_evaluation_and_one_click_on_retry_completes_one(
    served, command, click_until_taken
):
    home, api = served
    nights = api.wait("the schedule", lambda: scheduled(api), 120)
    assert {UUID(night["id"]).version for night in nights} == {7}
    first, *later = (expected_id(night) for night in nights)

    begin_now(api, nights[0])
    stages = lose_the_scores(home, api, first)
    click_until_taken(api, f"/v2/runs/flow-run/{stages['score']['id']}", retry)
    api.wait("the retry", lambda: statuses(home) == {"running"}, 240)
    for night in nights[1:]:
        begin_now(api, night)
    seen = set()

    def are_over():
        seen.update(statuses(home))
        states = {state_of(api, night) for night in nights}
        assert not states & {"FAILED", "CRASHED", "CANCELLED"}
        return states == {"COMPLETED"}

    api.wait("these nights", are_over, 800)
    assert seen <= {"running", "completed"}, "a night between two stages is not interrupted"
    require_one_retry(stages, stages_of(api, first))

    runs = command.read(home, "runs")["runs"]
    assert sorted(run["id"] for run in runs) == [first, *later]
    assert {run["status"] for run in runs} == {"completed"}
    for run in runs:
        trials = command.read(home, "show", "--run", run["id"])["trials"]
        assert [t["trial"]["run_id"] for t in trials] == [run["id"]] * 4
        assert {t["outcome"]["attempt"] for t in trials} == {1}
        assert all(t["score"] for t in trials)
        assert all(t["outcome"]["started_at"] >= run["created_at"] for t in trials)
    assert no_two_at_once(home)
    pages = [f"http://127.0.0.1:PORT/runs/{run}/dashboard.html" for run in (first, *later)]
    assert dashboard_links(api) == sorted(pages)


def dashboard_links(api):
    """Where the artifacts of the nights lead."""
    keys = {"key": {"any_": ["dashboard"]}}
    found = api.post("artifacts/filter", {"artifacts": keys})
    links = [re.findall(r"\(([^)]+)\)", artifact["data"])[0] for artifact in found]
    return sorted(re.sub(r":\d+/", ":PORT/", link) for link in links)


def lose_the_scores(home, api, run_id):
    """Take the artifacts away before they are scored, until the night has failed.

    Returns its stages' flow runs.
    """

    def has_ended(stage, how):
        return stages_of(api, run_id).get(stage, {}).get("state_type") == how

    api.wait("execute to complete", lambda: has_ended("execute", "COMPLETED"), 240)
    hidden = home / "artifacts (lost)"
    (home / "artifacts").rename(hidden)
    api.wait("score to fail", lambda: has_ended("score", "FAILED"), 120)
    api.wait("the night to fail", lambda: failed(api, "nightly_evaluation"), 60)
    # Back over whatever the failing stage wrote meanwhile.
    shutil.copytree(hidden, home / "artifacts", dirs_exist_ok=True)
    stages = stages_of(api, run_id)
    assert "none of 4 trials could be done" in stages["score"]["state"]["message"]
    return stages


def require_one_retry(before, after):
    """Every stage of the night has one flow run, and only `score` was begun a second time."""
    assert after["score"]["id"] == before["score"]["id"]
    assert after["score"]["run_count"] == 2
    assert {name: after[name]["run_count"] for name in ("prepare", "execute", "diagnose")} == {
        "prepare": 1,
        "execute": 1,
        "diagnose": 1,
    }


def retry(page):
    page.get_by_role("button", name="Open menu").click()
    page.get_by_role("menuitem", name="Retry").click()
    page.get_by_role("button", name="Retry", exact=True).click()


def stages_of(api, run_id):
    """Return the flow runs of a night's stages by the names of their flows."""
    names = ("prepare", "execute", "score", "diagnose")
    found = {name: [r for r in api.runs_of(name) if r["name"].endswith(run_id)] for name in names}
    assert all(len(runs) <= 1 for runs in found.values())
    return {name: runs[0] for name, runs in found.items() if runs}


def failed(api, flow):
    return "FAILED" in {run["state_type"] for run in api.runs_of(flow)}


def state_of(api, night):
    return api.get(f"flow_runs/{night['id']}")["state"]["type"]


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
