"""A night through the command: real tasks, agents, sandboxes, scores, dashboard."""

import re
import time
import urllib.request

import pytest

pytestmark = pytest.mark.e2e


def test_the_last_lines_name_run_table_dashboard_and_ui(night, command):
    (run,) = command.read(night.home, "runs")["runs"]
    tail = "\n".join(night.output.splitlines()[-20:])
    assert run["status"] == "completed"
    assert run["id"] in tail
    assert "react:local/smollm2-135m" in tail
    assert run["dashboard"] in tail
    assert re.search(r"http://127\.0\.0\.1:\d+", tail)


def test_results_have_the_promised_shape(night, command):
    results = command.read(night.home, "results")
    promised = (
        "agent trials errors root_score root_sr leaf_sr tool_sr coverage capability_sr category "
        "cost_usd wall_s turns failures"
    )
    for agent in results["agents"]:
        assert set(promised.split()) <= agent.keys()
        assert agent["trials"] == len(night.tasks)
        assert agent["errors"] == 0
    assert {"run", "agents", "refinement"} <= results.keys()


def test_the_reference_earns_full_marks_and_nothing_earns_nothing(night, command):
    agents = {a["agent"]: a for a in command.read(night.home, "results")["agents"]}
    assert agents["reference"]["root_score"]["mean"] == pytest.approx(10)
    assert agents["nop"]["root_score"]["mean"] <= 1
    assert agents["reference"]["tool_sr"] == 1


def test_the_small_model_was_really_asked_and_tried_again(night, command):
    trials = command.read(night.home, "show")["trials"]
    small = [t for t in trials if t["trial"]["agent"].startswith("react:local/")]
    assert {t["trial"]["round"] for t in small} == {0, 1}
    for trial in small:
        assert trial["outcome"]["usage"]["output_tokens"] > 0
        assert "smollm2" in trial["outcome"]["model_id"].lower()
    refined = [t for t in small if t["trial"]["round"] == 1]
    assert all(t["trial"]["feedback"] for t in refined)
    transcript = command.read(night.home, "show", refined[0]["trial"]["id"])["transcript"]
    told = [e["text"] for e in transcript["events"] if e["kind"] == "message"]
    assert any(refined[0]["trial"]["feedback"][:40] in text for text in told)


def test_gates_held_and_left_their_validation_results(night, command):
    gates = command.read(night.home, "results")["gates"]
    assert {"tasks", "trial_scores", "leaf_scores"} <= {g["gate"] for g in gates}
    for gate in gates:
        assert gate["success"]
        kept = night.home / "artifacts" / gate["validation_sha256"][:2] / gate["validation_sha256"]
        assert b"expectation_config" in kept.read_bytes()


def test_running_a_finished_stage_again_changes_nothing(night, command):
    before = command.read(night.home, "show")
    done = command.run(night.home, "stage", "score")
    assert done.returncode == 0, done.stderr
    assert command.read(night.home, "show") == before


def test_the_server_stops_with_its_last_user(night):
    url = re.findall(r"http://127\.0\.0\.1:\d+", night.output)[0]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/api/health", timeout=2)
        except OSError:
            return
        time.sleep(1)
    pytest.fail(f"{url} still answers a minute after the command has ended")


def test_no_secret_of_the_environment_is_in_anything_the_run_wrote(night):
    canary = b"canary-b7f3a1"
    written = [p for p in night.home.rglob("*") if p.is_file()]
    assert len(written) > 20
    assert [p for p in written if canary in p.read_bytes()] == []
    assert canary.decode() not in night.output
