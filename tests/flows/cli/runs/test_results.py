"""`nightshift results` is read in a terminal of 80 columns: who is best, and what was lost."""

import json

import pytest

BEST, SECOND = "function_calling:anthropic/claude-sonnet-4-5", "react:local/smollm2-135m"
SCORES = {
    "nop": (0.0, 0.0),
    SECOND: (2.0, 3.0),
    "react:openai/lost": ("no sandbox: full disk", "no sandbox: full disk"),
    "reference": (10.0, 10.0),
    BEST: (9.0, 4.0),
    "react:openai/late": (8.0, None),
}


@pytest.fixture
def results(stored_run, command, monkeypatch):
    """Show the run in a terminal of that width; returns the lines."""
    stored_run(SCORES)

    def show(*arguments: str, columns: int | None = 80) -> list[str]:
        monkeypatch.delenv("COLUMNS", raising=False)
        if columns is not None:
            monkeypatch.setenv("COLUMNS", str(columns))
        done = command("results", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return show


def places(lines: list[str], *names: str) -> list[int]:
    return [next(n for n, line in enumerate(lines) if line.startswith(name)) for name in names]


def test_agents_are_ranked_by_root_score_and_controls_stand_below(results):
    order = places(
        results(), "react:openai/late", BEST[:20], SECOND, "react:openai/lost", "reference", "nop"
    )
    assert order == sorted(order)


@pytest.mark.parametrize("arguments", [(), ("--wide",)])
def test_no_line_is_wider_than_80(results, arguments):
    lines = [line for line in results(*arguments) if not line.startswith("Dashboard")]
    assert max(map(len, lines)) <= 80


def test_wide_shows_every_column_side_by_side_where_there_is_room(results):
    header = results("--wide", columns=160)[1]
    for name in ("agent", "95 % interval", "leaf SR", "tool SR", "coverage", "turns", "cost"):
        assert name in header


def test_where_nobody_says_how_wide_it_is_80_columns_are_written(results, monkeypatch):
    def no_terminal(_descriptor):
        raise OSError("not a terminal")

    monkeypatch.setattr("os.get_terminal_size", no_terminal)
    assert results(columns=None) == results(columns=80)


def test_trials_that_wait_and_those_lost_are_told(results):
    told = "\n".join(results())
    assert "react:openai/late: 1 of 2 trials have no score yet" in told
    assert "no sandbox: full disk" in told


def test_a_small_model_is_said_to_have_had_little_room(results):
    told = " ".join(" ".join(results()).split())
    assert f"{SECOND} had" in told
    assert "turns of at most" in told


def test_programs_are_told_which_agents_are_controls(command, stored_run):
    stored_run(SCORES)
    agents = json.loads(command("results", "--json").stdout)["agents"]
    assert {a["agent"] for a in agents if a["is_control"]} == {"reference", "nop"}


def test_report_tells_programs_where_it_wrote(command, stored_run, home):
    stored_run(SCORES)
    told = json.loads(command("report", "--json").stdout)
    assert told["run"] == "run-1"
    assert told["bytes"] == (home / "runs" / "run-1" / "dashboard.html").stat().st_size


def test_every_mean_has_n_interval_errors_and_coverage_beside_it(results):
    lines = results()
    header = " ".join(" ".join(lines[1:3]).split())
    for name in ("rank", "root score", "root SR", "n", "errors", "coverage"):
        assert name in header
    (at,) = places(lines, BEST[:20])
    both = f"{lines[at]} {lines[at + 1]}"
    for figure in ("6.50", "0.00-10.00", "50%", "9%-91%", "2/2", "0 (0%)", "100%", "1-3"):
        assert figure in both
    (lost,) = places(lines, "react:openai/lost")
    assert "0/2" in lines[lost]
    assert "2 (100%)" in lines[lost + 1]
