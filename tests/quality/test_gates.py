import contextlib
import io
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quality.gates import Suite, hold, require
from quality.suites.expectations import between, unique
from taskdata.errors import GateFailed

SCORES = Suite(
    name="scores",
    id_column="name",
    columns=("name", "score"),
    expectations=lambda: [
        between("score", "a score is between 0 and 10", 0, 10),
        unique("name", "names are unique"),
    ],
)


def test_rows_that_break_an_expectation_are_named():
    rows = [{"name": "a", "score": 3.0}, {"name": "b", "score": 11.5}, {"name": "c", "score": -1}]

    result, validation = hold(SCORES, rows, "r1")

    (failure,) = result.failures
    assert not result.success
    assert result.rows == 3
    assert failure.rows == ("b", "c")
    assert failure.column == "score"
    assert failure.unexpected_count == 2
    assert failure.expectation == "a score is between 0 and 10 (found: 11.5, -1)"
    assert validation["statistics"]["unsuccessful_expectations"] == 1
    json.dumps(validation, allow_nan=False)


def test_a_failed_gate_stops_the_run_in_one_line_that_names_gate_expectation_and_rows():
    result, _ = hold(SCORES, [{"name": "b", "score": 11.5}], "r1")

    with pytest.raises(GateFailed) as stopped:
        require(result)

    message = str(stopped.value)
    assert "\n" not in message
    assert "gate 'scores' stopped run r1" in message
    assert "a score is between 0 and 10 (found: 11.5): b" in message


def test_only_twenty_rows_are_named_and_the_rest_counted():
    result, _ = hold(SCORES, [{"name": f"n{i:02}", "score": 99} for i in range(25)], "r1")

    assert len(result.failures[0].rows) == 20
    with pytest.raises(GateFailed, match="n19 and 5 more"):
        require(result)


def test_a_gate_that_holds_lets_the_run_go_on():
    result, _ = hold(SCORES, [{"name": "a", "score": 0}, {"name": "b", "score": None}], "r1")

    assert result.success
    assert result.failures == ()
    require(result)


def test_a_missing_measurement_is_none_and_nan_is_a_failure():
    result, validation = hold(SCORES, [{"name": "a", "score": float("nan")}], "r1")

    assert not result.success
    assert result.failures[0].rows == ("a",)
    assert "NaN" in result.failures[0].expectation
    json.dumps(validation, allow_nan=False)


def test_nothing_to_look_at_is_not_a_pass_unless_the_suite_says_so():
    lenient = Suite("empty", "name", ("name", "score"), SCORES.expectations, may_be_empty=True)

    assert hold(lenient, [], "r1")[0].success
    result, _ = hold(SCORES, [], "r1")
    with pytest.raises(GateFailed, match="at least one row"):
        require(result)


def test_an_expectation_that_cannot_be_evaluated_fails_with_its_cause():
    result, _ = hold(SCORES, [{"name": "a", "score": "high"}], "r1")

    assert not result.success
    with pytest.raises(GateFailed, match=r"not evaluated: .*same type"):
        require(result)


def test_gates_held_at_once_by_several_threads_do_not_mix_their_rows():
    def names_of_failures(prefix: str) -> tuple[str, ...]:
        rows = [{"name": f"{prefix}{i}", "score": 11 if i < 2 else 1} for i in range(4)]
        return hold(SCORES, rows, "r1")[0].failures[0].rows

    prefixes = "abcdefgh"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(names_of_failures, prefixes))

    assert found == [(f"{p}0", f"{p}1") for p in prefixes]


def test_a_gate_is_silent_and_leaves_no_files(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()

    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        hold(SCORES, [{"name": "a", "score": 3.0}], "r1")

    assert said.getvalue() == ""
    assert list(tmp_path.iterdir()) == []
    assert list(temporary.iterdir()) == []
