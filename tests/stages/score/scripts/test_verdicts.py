"""What counts as a verdict of a program, and what as its failure."""

import pytest

from environments.ports import Completed
from environments.scripts.launch import FAILED, MISSING
from stages.score.scripts.verdicts import ScriptBroken, ScriptRun, read_verdicts
from taskdata.schema.checkpoint import ScriptCheck


def verdict(
    code: int = 0,
    out: bytes = b"",
    result: bytes | None = None,
    limit=None,
    entry: str = "main.py",
    **settings,
):
    script = ScriptCheck(entry=entry, **settings)
    run = ScriptRun(Completed(code, out, b"", 1.0, limit), result)
    return read_verdicts(script, ["leaf"], run)["leaf"]


LINE, FILE = {"verdict": "last_line"}, {"verdict": "json_file"}


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ({"code": 0}, 10),
        ({"code": FAILED}, 0),
        ({"code": MISSING}, 0),
        ({"code": 1, "entry": "main.sh"}, 0),
        ({"out": b"checked\n7.5\n\n", **LINE}, 7.5),
        ({"out": b"3", "full_score": 4, **LINE}, 7.5),
        ({"code": MISSING, **LINE}, 0),
        ({"result": b'{"score": 1, "reason": "fine", "more": []}', "full_score": 1, **FILE}, 10),
        ({"result": b'{"score": 1, "leaves": {"leaf": {"score": 4}}}', **FILE}, 4),
    ],
)
def test_a_verdict_is_a_score_from_0_to_10(given, score):
    assert verdict(**given).score == score


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"code": 1}, "exit code 1"),
        ({"code": 2, "entry": "main.sh"}, "exit code 2"),
        ({"code": 70}, "exit code 70"),
        ({"code": -11}, "crashed"),
        ({"code": 0, "limit": "memory"}, "more memory"),
        ({"code": FAILED, "out": b"5", **LINE}, "exit code"),
        ({"out": b"good work", **LINE}, "no number from 0 to 10"),
        ({"out": b"", **LINE}, "no number from 0 to 10"),
        ({"out": b"nan", **LINE}, "no number from 0 to 10"),
        ({"out": b"inf", **LINE}, "no number from 0 to 10"),
        ({"out": b"11", **LINE}, "no number from 0 to 10"),
        ({"out": b"-1", **LINE}, "no number from 0 to 10"),
        ({**FILE}, "left no result.json"),
        ({"result": b"[" * 100_000, **FILE}, "no JSON"),
        ({"result": b"\xff", **FILE}, "no JSON"),
        ({"result": b"[]", **FILE}, "result.json"),
        ({"result": b'{"score": "10"}', **FILE}, "valid number"),
        ({"result": b'{"score": NaN}', **FILE}, "finite"),
        ({"result": b'{"score": 11}', **FILE}, "no score from 0 to 10"),
        ({"result": b'{"leaves": {"other": {"score": 1}}}', **FILE}, "'leaf'"),
    ],
)
def test_anything_else_is_a_failure_of_the_program(given, reason):
    with pytest.raises(ScriptBroken, match=reason):
        verdict(**given)


def test_the_evidence_is_the_end_of_the_output():
    reason = verdict(out=b"x" * 5000 + b"\0the end").reason
    assert reason.endswith("the end")
    assert len(reason) < 2100
