import contextlib
import io
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quality import gates
from quality.gates import (
    Distribution,
    Suite,
    hold,
    quarantine_findings,
    quarantine_reasons,
    require,
    rules_sha256,
    still_holds,
)
from quality.suites.expectations import between, one_of, quarantining, unique
from quality.suites.tasks import TaskLimits
from taskdata.errors import GateFailed
from taskdata.schema.gate import GateLevel

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


FAULTY = Suite(
    name="faulty",
    id_column="name",
    columns=("name", "fault", "score"),
    expectations=lambda: [
        *quarantining([one_of("fault", "there is no fault", [])]),
        between("score", "a score is between 0 and 10", 0, 10),
    ],
)


def faulty(name: str, fault: str | None = None, score: float | str = 5.0) -> dict[str, Any]:
    return {"name": name, "fault": fault, "score": score}


def test_rows_that_break_an_expectation_at_level_quarantine_leave_and_the_rest_go_on():
    result, validation = hold(FAULTY, [faulty("a"), faulty("b", "torn"), faulty("c")], "r1")

    assert result.success
    assert result.quarantined == ("b",)
    (failure,) = result.failures
    assert failure.level is GateLevel.QUARANTINE
    assert failure.expectation == "there is no fault (found: torn)"
    assert failure.rows == ("b",)
    assert quarantine_reasons(validation) == {"b": ("there is no fault (found: torn)",)}
    require(result)


def test_a_row_may_break_the_rule_that_is_overridden_for_it_and_no_other_may():
    rows = [faulty("a", "torn"), faulty("b", "torn"), faulty("c")]
    result, validation = hold(FAULTY, rows, "r1", {"a": {"fault"}, "b": {"score"}})
    assert result.quarantined == ("b",)
    (finding,) = quarantine_findings(validation)["b"]
    assert (finding.gate, finding.rule, finding.value) == ("gate faulty", "fault", "torn")
    alone, _ = hold(FAULTY, rows[::2], "r1", {"a": {"fault"}})
    assert (alone.quarantined, alone.failures) == ((), ())


def test_every_row_in_quarantine_is_named_though_a_failure_names_twenty():
    rows = [faulty(f"n{i}", "torn") for i in range(300)]

    result, validation = hold(FAULTY, [*rows, faulty("sound")], "r1")

    assert result.quarantined == tuple(f"n{i}" for i in range(300))
    assert len(result.failures[0].rows) == 20
    assert len(quarantine_reasons(validation)) == 300


def test_what_a_row_in_quarantine_breaks_beside_does_not_stop_the_flow():
    result, _ = hold(FAULTY, [faulty("a", "torn", 99), faulty("b")], "r1")

    assert result.success
    assert result.quarantined == ("a",)


def test_an_expectation_at_level_stop_stops_the_flow_and_the_message_names_no_other():
    result, _ = hold(FAULTY, [faulty("a", "torn"), faulty("b", score=99)], "r1")

    assert not result.success
    assert result.quarantined == ("a",)
    with pytest.raises(GateFailed, match=r"1 of .*: a score is between 0 and 10 .*: b") as stopped:
        require(result)
    assert "there is no fault" not in str(stopped.value)


def test_a_gate_that_leaves_nothing_stops_the_flow_and_says_so():
    lenient = replace(FAULTY, may_be_empty=True)

    result, _ = hold(lenient, [faulty("a", "torn"), faulty("b", "torn")], "r1")

    assert result.quarantined == ("a", "b")
    with pytest.raises(GateFailed, match="at least one row left that is not in quarantine"):
        require(result)
    assert hold(lenient, [], "r1")[0].success


def test_a_row_leaves_with_every_row_of_its_id():
    result, _ = hold(FAULTY, [faulty("a", "torn"), faulty("a", score=99), faulty("b")], "r1")

    assert result.success
    assert result.quarantined == ("a",)


def test_rows_in_quarantine_are_named_in_the_order_they_came():
    several = replace(
        FAULTY,
        expectations=lambda: quarantining(
            [
                between("score", "a score is at most 10", 0, 10),
                one_of("fault", "there is no fault", []),
            ]
        ),
    )

    result, _ = hold(several, [faulty("b", "torn"), faulty("a", score=99), faulty("c")], "r1")

    assert result.quarantined == ("b", "a")


def test_rows_of_one_id_all_leave_where_ids_must_be_unique():
    twins = replace(FAULTY, expectations=lambda: quarantining([unique("name", "names differ")]))

    result, _ = hold(twins, [faulty("a"), faulty("a"), faulty("b")], "r1")

    assert result.quarantined == ("a",)


def test_a_quarantine_expectation_that_cannot_be_evaluated_stops_the_flow():
    blind = replace(
        FAULTY, expectations=lambda: quarantining([between("score", "a score is high", 5)])
    )

    result, _ = hold(blind, [faulty("a", score="high")], "r1")

    assert result.quarantined == ()
    with pytest.raises(GateFailed, match=r"a score is high \(not evaluated"):
        require(result)


def shares(kept: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    initials = Counter(row["name"][0] for row in kept)
    return [{"group": i, "share": n / len(kept)} for i, n in sorted(initials.items())]


MIXED = replace(
    FAULTY,
    distribution=Distribution(
        columns=("share",),
        groups=shares,
        expectations=lambda: [between("share", "no initial has more than half", 0, 0.5)],
    ),
)


def test_a_distribution_is_judged_over_the_rows_that_are_left():
    balanced = [faulty("a1"), faulty("a2"), faulty("b1"), faulty("b2")]
    assert hold(MIXED, balanced, "r1")[0].success

    result, validation = hold(MIXED, [*balanced[:3], faulty("b2", "torn")], "r1")

    assert result.quarantined == ("b2",)
    stop = result.failures[-1]
    assert (stop.level, stop.rows) == (GateLevel.STOP, ("a",))
    assert stop.expectation.startswith("no initial has more than half (found: 0.66")
    assert validation["results"][-1]["result"]["observed_value"] == "a: 0.666667, b: 0.333333"
    with pytest.raises(GateFailed, match="no initial has more than half"):
        require(result)


def test_a_distribution_can_be_saved_by_the_rows_that_leave():
    rows = [faulty("a1"), faulty("a2", "torn"), faulty("a3", "torn"), faulty("b1")]

    assert hold(MIXED, rows, "r1")[0].success


def test_the_validation_result_holds_all_passes_and_succeeds_where_the_gate_does():
    result, validation = hold(MIXED, [faulty("a"), faulty("b"), faulty("c", "torn")], "r1")

    assert validation["success"] is result.success is True
    assert result.expectations == len(validation["results"]) == 5
    assert validation["statistics"]["unsuccessful_expectations"] == 1
    assert validation["meta"]["run_id"]["run_name"] == "r1"
    json.dumps(validation, allow_nan=False)


def test_a_quarantine_is_told_from_a_stop_by_great_expectations_as_well():
    _, validation = hold(FAULTY, [faulty("a", "torn"), faulty("b", score=99)], "r1")

    severities = {
        r["expectation_config"]["description"]: r["expectation_config"]["severity"]
        for r in validation["results"]
        if not r["success"]
    }
    assert severities == {"there is no fault": "warning", "a score is between 0 and 10": "critical"}


def test_what_held_holds_again_under_the_same_code_alone(monkeypatch):
    monkeypatch.setattr(gates, "code_version", lambda: "1.0+aaaa")
    held, broken = judged({"name": "a", "score": 3}), judged({"name": "a", "score": 99})

    assert still_holds([broken, held], "scores", TaskLimits())
    assert not still_holds([broken], "scores", TaskLimits())
    assert not still_holds([held], "tasks", TaskLimits())
    monkeypatch.setattr(gates, "code_version", lambda: "1.0+bbbb")
    assert not still_holds([held], "scores", TaskLimits())


def test_a_verdict_under_other_limits_says_nothing(monkeypatch):
    monkeypatch.setattr(gates, "code_version", lambda: "1.0+aaaa")
    held = judged({"name": "a", "score": 3})

    assert not still_holds([held], "scores", TaskLimits(query_length=(1, 30)))
    assert not still_holds([held.model_copy(update={"rules_sha256": None})], "scores", TaskLimits())


def test_code_that_nobody_can_name_is_never_the_same(monkeypatch):
    monkeypatch.setattr(gates, "code_version", lambda: "1.0+aaaa.dirty")
    assert not still_holds([judged({"name": "a", "score": 3})], "scores", TaskLimits())


def judged(row):
    result, _ = hold(SCORES, [row], "r1")
    return result.model_copy(update={"rules_sha256": rules_sha256(TaskLimits())})
