"""The benchmarks of the execute stage do their work and report it as they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak import at_length_only

ROOT = Path(__file__).resolve().parents[2]


def run_benchmark(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / name), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_throughput_prints_one_line_of_figures_and_says_which_peer_is_not_installed(provider):
    small = ("--trials", "4", "--in-flight", "2", "--latency", "0.02", "--turns", "2")
    peer = ("--peer", "inspect")

    done = run_benchmark("throughput.py", *small, *peer, "--provider", provider, "--json")

    (line,) = done.stdout.splitlines()
    figures = json.loads(line)
    assert (figures["trials"], figures["calls"]) == (4, 12)
    assert figures["bound_s"] == pytest.approx(12 * 0.02 / 2)
    assert figures["wall_s"] >= figures["bound_s"]
    assert figures["cpu_ms_per_call"] > 0
    assert figures["peer_wall_s"] is None
    (note,) = done.stderr.splitlines()
    assert "--peer-python" in note


def test_failure_labels_prints_agreement_and_time():
    figures = json.loads(run_benchmark("failure_labels.py", "--diagnoses", "20", "--json").stdout)

    assert figures["held_out"]["macro_f1"] >= 0.85
    assert figures["held_out"]["labels"]["long_run.loop"]["n"] >= 1
    assert figures["written"]["people_then_rules"]["stage"]["plan > plan"] >= 1
    assert (figures["diagnoses"], figures["seconds"] > 0) == (20, True)


@pytest.mark.soak
def test_planning_scores_marks_ten_thousand_answers_in_time():
    figures = json.loads(run_benchmark("planning_scores.py", "--json").stdout)

    assert (figures["cases"], figures["correct"]) == (10_000, 2_500)
    assert figures["cpu_seconds"] <= 10


@pytest.mark.soak
@at_length_only
def test_execute_scale_times_runs_and_a_resumed_one(tmp_path: Path):
    plot = tmp_path / "scale.svg"

    done = run_benchmark("execute_scale.py", "--trials", "3", "6", "--plot", str(plot), "--json")

    figures = json.loads(done.stdout)
    assert [cost["trials"] for cost in figures["costs"]] == [3, 6]
    assert figures["resumed"]["finished"] == 6
    assert figures["resumed"]["first_trial_s"] >= figures["resumed"]["prepare_s"]
    assert "<svg" in plot.read_text()


@pytest.mark.soak
@at_length_only
def test_scoring_times_check_leaves_over_dask():
    few = ("--trials", "6", "--leaves", "3", "--same", "2", "--json")

    figures = json.loads(run_benchmark("scoring.py", *few).stdout)

    assert (figures["trials"], figures["leaves"], figures["files"]) == (6, 3, 2)
    assert figures["cpu_ms_per_trial"] > 0
