"""A failed stage is retried by one click in the Prefect UI, and the rest of the night follows."""

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.browser]


@pytest.fixture
def served(tmp_path, command, serving):
    """`nightshift serve` over a small night of two cheap agents; yields home and API."""
    home = tmp_path / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    tasks = [t["id"] for t in listed if t["tier"] == "atomic"][:2]
    run = f"[run]\nagents = ['reference', 'nop']\ntasks = {tasks}\nrefinement_rounds = 0\n"
    with serving(home, run, 4799) as api:
        yield home, api


def test_one_click_on_retry_completes_the_night(served, command, click_until_taken):
    home, api = served
    night = api.get("deployments/name/nightly_evaluation/nightly")
    assert night["schedules"][0]["schedule"]["cron"]
    api.post(f"deployments/{night['id']}/create_flow_run", {})

    api.wait("execute to complete", lambda: api.state_of("execute") == "COMPLETED", 240)
    hidden = home / "artifacts (lost)"
    (home / "artifacts").rename(hidden)
    api.wait("score to fail", lambda: api.state_of("score") == "FAILED", 120)
    api.wait("the night to fail", lambda: api.state_of("nightly_evaluation") == "FAILED", 60)
    (score,) = api.runs_of("score")
    assert "none of 4 trials could be done" in score["state"]["message"]
    restore(home, hidden)

    click_until_taken(api, f"/v2/runs/flow-run/{score['id']}", retry)

    api.wait("the night", lambda: api.state_of("nightly_evaluation") == "COMPLETED", 240)
    stages = {flow: api.runs_of(flow) for flow in ("prepare", "execute", "score", "diagnose")}
    assert {flow: len(runs) for flow, runs in stages.items()} == dict.fromkeys(stages, 1)
    assert stages["execute"][0]["run_count"] == 1
    assert stages["score"][0]["run_count"] == 2
    assert stages["score"][0]["id"] == score["id"]
    trials = command.read(home, "show")["trials"]
    assert len(trials) == 4
    assert {t["outcome"]["attempt"] for t in trials} == {1}
    assert all(t["score"] for t in trials)


def retry(page):
    page.get_by_role("button", name="Open menu").click()
    page.get_by_role("menuitem", name="Retry").click()
    page.get_by_role("button", name="Retry", exact=True).click()


def restore(home, hidden):
    """Put the artifacts back over whatever the failing stage wrote meanwhile."""
    import shutil

    shutil.copytree(hidden, home / "artifacts", dirs_exist_ok=True)
