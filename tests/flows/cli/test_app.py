"""The command's errors are one line with a way out; help is quick."""

import json
import subprocess
import sys

import pytest

from taskdata.version import code_version


def test_help_does_not_import_the_slow_libraries():
    slow = {"prefect", "great_expectations", "plotly", "pandas", "openai", "dask", "sqlmodel"}
    check = f"import sys, flows.cli.app; print(sorted({slow!r} & set(sys.modules)))"
    # Importing the store would double the start-up time of `nightshift mcp serve`.
    check += "; import environments.tool_runtime.catalogue; print('sqlmodel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]


def test_help_names_every_command(nightshift):
    done = nightshift("--help")
    assert done.returncode == 0
    for command in ("run", "runs", "results", "show", "stage", "report", "bank", "serve", "doctor"):
        assert command in done.stdout


def test_a_flow_that_failed_is_not_told_twice():
    tell = (
        "import logging; from flows.cli.app import options; options(debug=False); "
        "logging.getLogger('prefect.flow_runs').error('failed'); "
        "logging.getLogger('stages').error('a candidate stays due')"
    )
    done = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True)
    assert "a candidate stays due" in done.stderr
    assert "failed" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--bank", "nowhere"], "bank 'nowhere' is unknown"),
        (["run", "--agent", "telepath"], "telepath"),
        (["run", "--agent", "Not An Agent"], "expected a bare name"),
        (["run", "--agent", "react:openai/gpt-5.2"], "OPENAI_API_KEY"),
        (["run", "--agent", "react:nobody/model"], "nobody"),
        (["run", "--agent", "react"], "needs a model"),
        (["run", "--task", "no-such-task"], "no-such-task"),
        (["run", "--repetitions", "0"], "repetitions"),
        (["run", "--sandbox", "paper-bag"], "sandbox"),
        (["run", "--judge", "openai"], "provider/model"),
        (["run", "--mode", "step-by-step"], "name agents of harness react"),
        (["run", "--mode", "by-step"], "there are end-to-end, step-by-step"),
        (["run", "--resume", "no-such-run"], "no-such-run"),
        (["run", "--resume", "x", "--agent", "nop"], "besides it goes only --max-usd"),
        (["results", "no-such-run"], "no-such-run"),
        (["results"], "no run yet"),
        (["show", "no-such-trial"], "no-such-trial"),
        (["stage", "dream"], "dream"),
        (["bank", "show", "no-such-task"], "no-such-task"),
        (["run", "--wrokers", "3"], "--wrokers"),
        (["run", "--workers"], "'--workers' requires an argument"),
        (["run", "--workers", "many"], "'--workers': Input should be a valid integer"),
        (["run", "now"], "unexpected extra argument(s) (now)"),
        (["mcp", "serve", "--transport", "pigeon"], "'--transport'"),
        (["stage"], "Missing argument 'name'"),
        (["dream"], "No such command 'dream'"),
        (["bank", "dream"], "No such command 'dream'"),
        (["--verbose"], "--verbose"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(command, arguments, message):
    done = command(*arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (["run", "--wrokers", "3"], "`nightshift run --help`"),
        (["bank", "dream"], "`nightshift bank --help`"),
        (["dream"], "`nightshift --help`"),
    ],
)
def test_a_wrong_command_line_is_told_where_the_right_words_are(command, arguments, way_out):
    assert way_out in command(*arguments).stderr


@pytest.mark.parametrize("arguments", [[], ["bank"]])
def test_a_command_without_a_word_shows_its_help_and_is_no_success(command, arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert "Usage: nightshift" in done.stdout
    assert done.stderr == ""


def test_version_is_that_of_the_code_that_measurements_carry(command):
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"nightshift {code_version()}\n")


def test_an_interruption_is_one_line_and_exit_code_130(command, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("taskdata.store.Store.open", interrupted)
    done = command("runs")
    assert done.returncode == 130
    assert done.stderr == "error: interrupted; what was finished is kept\n"


def test_misuse_ends_the_process_with_code_2(nightshift):
    done = nightshift("run", "--agent", "telepath")
    assert done.returncode == 2
    assert "telepath" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_runs_of_a_new_home_are_none(command):
    done = command("runs", "--json")
    assert json.loads(done.stdout) == {"runs": []}


def test_bank_list_names_the_starter_tasks(command):
    listed = json.loads(command("bank", "list", "--json").stdout)
    assert len([t for t in listed["tasks"] if t["tier"] == "workflow"]) >= 12
    assert len([t for t in listed["tasks"] if t["tier"] == "atomic"]) >= 8


def test_doctor_tells_the_state_of_every_tool_and_sandbox(nightshift):
    found = json.loads(nightshift("doctor", "--json").stdout)
    assert {"name": "Calculator", "state": "ready"} in found["tools"]
    checks = {check["name"] for check in found["checks"]}
    assert {"sandbox bubblewrap", "sandbox docker"} <= checks
    assert {"page pictures", "screen pictures", "transcripts"} <= checks
    assert {"name": "model local/smollm2-135m", "state": "ready"} in found["checks"]
    assert "model local/qwen2.5-coder-0.5b" in checks


def test_an_error_shows_its_traceback_only_with_debug(nightshift):
    assert "Traceback" in nightshift("--debug", "results").stderr
