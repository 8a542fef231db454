"""The exit code of a run says whether everything was evaluated, and well enough for CI."""

import json

import pytest

from flows.cli.runs.verdicts import what_helps
from flows.config import load_settings
from taskdata.schema.gate import GateResult
from taskdata.store import Store

MODEL = "react:openai/gpt-x"


@pytest.fixture
def verdict(stored_run, command):
    """Read a run of these scores with --fail-under; returns exit code and errors."""

    def read(scores, fail_under, *arguments):
        stored_run({"reference": (10.0, 10.0), "nop": (0.0, 0.0), **scores})
        done = command("results", "--fail-under", fail_under, *arguments)
        return done.returncode, done.stderr

    return read


def test_a_run_that_is_good_enough_ends_with_0_and_controls_do_not_count(verdict):
    assert verdict({MODEL: (8.0, 6.0)}, "7") == (0, "")


def test_an_agent_below_ends_with_4_and_is_named(verdict):
    code, said = verdict({MODEL: (8.0, 5.0), "react:openai/good": (9.0, 9.0)}, "7")
    assert code == 4
    assert said == f"error: {MODEL} has root score 6.50, below --fail-under 7\n"


def test_trials_without_a_score_end_with_3_whatever_the_others_score(verdict):
    code, said = verdict({MODEL: (9.0, "no sandbox"), "react:openai/late": (0.0, None)}, "7")
    assert code == 3
    assert "2 trials have no score; `nightshift run --resume run-1`" in said


def test_trials_that_a_deadline_stopped_end_with_3_and_the_deadline_is_told(verdict, command):
    why = "the stage was stopped by its deadline of 25 s (stage_seconds)"
    code, said = verdict({MODEL: (why, why)}, "7")
    assert (code, "2 trials have no score" in said) == (3, True)
    assert why in " ".join(command("results", "--detail").stdout.split())


def test_programs_get_their_json_and_the_code(stored_run, command):
    stored_run({MODEL: (1.0,)})
    done = command("results", "--json", "--fail-under", "7")
    assert (done.returncode, json.loads(done.stdout)["unevaluated"]) == (4, 0)


def test_reading_alone_has_no_verdict(stored_run, command):
    stored_run({MODEL: (0.0, "no sandbox")})
    assert command("results").returncode == 0


@pytest.mark.parametrize("value", ["-1", "11", "nan", "inf", "high"])
def test_what_is_no_score_is_misuse(stored_run, command, value):
    stored_run({MODEL: (1.0,)})
    done = command("results", "--fail-under", value)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "--fail-under" in done.stderr


def test_controls_alone_have_nobody_to_compare(stored_run, command):
    stored_run({"reference": (10.0,)})
    assert command("results", "--fail-under", "5").returncode == 2
    done = command("run", "--agent", "nop", "--task", "harvest-pie", "--fail-under", "5")
    assert (done.returncode, "controls" in done.stderr) == (2, True)


def gate_result(gate: str, success: bool) -> GateResult:
    return GateResult(
        gate=gate, run_id="run-1", success=success, expectations=1, rows=1, code_version="test"
    )


def test_a_run_that_keeps_broken_tasks_is_not_to_be_resumed(stored_run, home):
    stored_run({MODEL: (None,)})
    settings = load_settings()
    store = Store.open(settings.address)
    store.record_gate(gate_result("tasks", success=False))
    assert "start a new run" in what_helps(settings, "run-1")
    assert "--resume" not in what_helps(settings, "run-1")
    # The code was at fault, say, and the gate holds now.
    store.record_gate(gate_result("tasks", success=True))
    store.record_gate(gate_result("trial_scores", success=False))
    assert "`nightshift run --resume run-1`" in what_helps(settings, "run-1")
    store.close()
