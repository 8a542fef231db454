"""A failed stage is retried by one click in the Prefect UI, and the rest of the night follows."""

import json
import re
import subprocess
import threading
import time
import urllib.request

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.browser]


class Api:
    """The few calls of Prefect's REST API that a person's clicks do not cover."""

    def __init__(self, url):
        self.url = url

    def post(self, path, body):
        request = urllib.request.Request(
            f"{self.url}/api/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def get(self, path):
        with urllib.request.urlopen(f"{self.url}/api/{path}", timeout=30) as reply:
            return json.load(reply)

    def runs_of(self, flow):
        return self.post("flow_runs/filter", {"flows": {"name": {"any_": [flow]}}})


def wait_for(what, condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.3)
    return pytest.fail(f"{what}: not within {seconds} s")


@pytest.fixture
def served(tmp_path, command):
    """`nightshift serve` over a small night of two cheap agents; yields home and API."""
    home = tmp_path / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    tasks = [t["id"] for t in listed if t["tier"] == "atomic"][:2]
    (tmp_path / "nightshift.toml").write_text(
        f"[run]\nagents = ['reference', 'nop']\ntasks = {tasks}\nrefinement_rounds = 0\n"
    )
    server = subprocess.Popen(
        [*command.argv, "serve"],
        env=command.environment(home) | {"NIGHTSHIFT_PREFECT_PORT": "4799"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = []
    threading.Thread(target=lambda: lines.extend(server.stdout), daemon=True).start()
    try:
        url = wait_for(
            "the server's address",
            lambda: re.findall(r"Prefect UI: (\S+)", "".join(lines)),
            180,
        )[0]
        api = Api(url)
        deployments = wait_for(
            "the deployments", lambda: len(api.post("deployments/filter", {})) == 20, 90
        )
        assert deployments
        yield home, api
    finally:
        server.terminate()
        server.wait(timeout=60)


def state_of(api, flow):
    runs = api.runs_of(flow)
    return runs[0]["state"]["type"] if runs else None


def test_one_click_on_retry_completes_the_night(served, browser, command):
    home, api = served
    night = api.get("deployments/name/nightly_evaluation/nightly")
    assert night["schedules"][0]["schedule"]["cron"]
    api.post(f"deployments/{night['id']}/create_flow_run", {})

    wait_for("execute to complete", lambda: state_of(api, "execute") == "COMPLETED", 240)
    hidden = home / "artifacts (lost)"
    (home / "artifacts").rename(hidden)
    wait_for("score to fail", lambda: state_of(api, "score") == "FAILED", 120)
    wait_for("the night to fail", lambda: state_of(api, "nightly_evaluation") == "FAILED", 60)
    (score,) = api.runs_of("score")
    assert "none of 4 trials could be done" in score["state"]["message"]
    restore(home, hidden)

    page = browser.new_page()
    page.goto(f"{api.url}/v2/runs/flow-run/{score['id']}")
    page.get_by_role("button", name="Open menu").click()
    page.get_by_role("menuitem", name="Retry").click()
    page.get_by_role("button", name="Retry", exact=True).click()

    wait_for("the night", lambda: state_of(api, "nightly_evaluation") == "COMPLETED", 240)
    page.close()
    stages = {flow: api.runs_of(flow) for flow in ("prepare", "execute", "score", "diagnose")}
    assert {flow: len(runs) for flow, runs in stages.items()} == dict.fromkeys(stages, 1)
    assert stages["execute"][0]["run_count"] == 1
    assert stages["score"][0]["run_count"] == 2
    assert stages["score"][0]["id"] == score["id"]
    trials = command.read(home, "show")["trials"]
    assert len(trials) == 4
    assert {t["outcome"]["attempt"] for t in trials} == {1}
    assert all(t["score"] for t in trials)


def restore(home, hidden):
    """Put the artifacts back over whatever the failing stage wrote meanwhile."""
    import shutil

    shutil.copytree(hidden, home / "artifacts", dirs_exist_ok=True)
