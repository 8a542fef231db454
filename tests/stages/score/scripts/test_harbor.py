"""How reward files are read, and why a verifier gave no reward or a meaningless one."""

import os

import pytest

from environments.ports import Completed, Workspace
from stages.score.scripts.conventions.harbor import HarborConvention, read_reward
from stages.score.scripts.program_text import fetched_by
from stages.score.scripts.verdicts import ScriptBroken, ScriptDoubted
from taskdata.schema.checkpoint import ScriptCheck

SCRIPT = ScriptCheck(entry="tests/test.sh", verdict="reward_file", full_score=1.0)
TEXT, JSON = "reward.txt", "reward.json"


def reward(files: dict[str, bytes], out: bytes = b"", code: int = 0):
    return read_reward(SCRIPT, Completed(code, out, b"", 1.0), files)


@pytest.mark.parametrize(
    ("files", "score"),
    [
        ({TEXT: b"1\n"}, 10),
        ({TEXT: b"0.0"}, 0),
        ({TEXT: b"0.25", JSON: b'{"reward": 1}'}, 2.5),
        ({JSON: b'{"reward": 0.75, "parts": {"a": 1}}'}, 7.5),
        ({JSON: b'{"correct": 1}'}, 10),
        ({JSON: b"0.5"}, 5),
    ],
)
def test_a_reward_from_0_to_1_is_a_score_whatever_the_exit_code(files, score):
    verdict = reward(files, b"checked", code=3)
    assert verdict.score == score
    assert verdict.reason.endswith("checked")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "left no reward.txt or reward.json: it ended with exit code 3"),
        ({TEXT: b""}, "no number"),
        ({TEXT: b"pass"}, "no number"),
        ({TEXT: b"nan"}, "no number"),
        ({TEXT: b"1e400"}, "no number"),
        ({TEXT: b"1.5"}, "from 0 to 1"),
        ({TEXT: b"-0.1"}, "from 0 to 1"),
        ({TEXT: b"\xff\0"}, "no number"),
        ({JSON: b'{"a": 1, "b": 0}'}, "no number"),
        ({JSON: b'{"reward": true}'}, "no number"),
        ({JSON: b'{"reward": "1"}'}, "no number"),
        ({JSON: b'{"reward": NaN}'}, "no number"),
        ({JSON: b"[1]"}, "no number"),
        ({JSON: b"[" * 100_000}, "no number"),
    ],
)
def test_anything_else_is_no_score(files, reason):
    with pytest.raises(ScriptBroken, match=reason):
        reward(files, code=3)


@pytest.mark.parametrize(
    ("out", "lacks"),
    [
        (b"/tests/test.sh: line 9: uvx: command not found", "uvx"),
        (b"curl: (6) Could not resolve host: astral.sh", "a network"),
        (b"W: Temporary failure resolving 'deb.debian.org'", "a network"),
    ],
)
def test_a_reward_of_0_that_may_be_for_want_of_a_program_or_a_network_is_doubted(out, lacks):
    with pytest.raises(ScriptDoubted, match=f"it needs {lacks}") as doubted:
        reward({TEXT: b"0"}, out)
    assert doubted.value.verdict.score == 0
    with pytest.raises(ScriptBroken, match=f"it needs {lacks}; tests/test.sh left no"):
        reward({}, out)
    assert reward({TEXT: b"1"}, out).score == 10


def test_a_program_that_the_agent_should_have_written_is_the_agents():
    missing = b"/tests/test.sh: line 4: ./count.sh: No such file or directory"
    assert reward({TEXT: b"0"}, missing).score == 0


def test_what_a_verifier_fetches_is_found_in_its_text():
    script = b"""#!/bin/bash
# apt-get install nothing
apt-get update && apt-get -y install curl
curl -LsSf https://example.org | sh
if ! uvx --with pytest pytest; then echo "curl failed"; fi
"""
    assert fetched_by([script]) == ("apt-get -y install", "apt-get update", "curl", "uvx")
    assert fetched_by([b"pytest /tests\necho curling; ./curl.sh\n"]) == ()


def test_only_a_small_plain_file_is_a_reward(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.output.mkdir()
    convention = HarborConvention()
    convention.make_ready(workspace)
    logs = tmp_path / "logs" / "verifier"
    (tmp_path / "secret").write_text("1")
    (logs / TEXT).symlink_to(tmp_path / "secret")
    os.mkfifo(logs / JSON)
    (logs / "test-stdout.txt").write_text("1")
    done = Completed(0, b"", b"", 1.0)
    with pytest.raises(ScriptBroken, match=r"left no reward\.txt"):
        convention.verdicts(SCRIPT, ["leaf"], done, workspace)
    (logs / TEXT).unlink()
    (logs / TEXT).write_bytes(b" " * 70_000 + b"1")
    with pytest.raises(ScriptBroken, match=r"left no reward\.txt"):
        convention.verdicts(SCRIPT, ["leaf"], done, workspace)
    (logs / TEXT).write_text("1")
    assert convention.verdicts(SCRIPT, ["leaf"], done, workspace)["leaf"].score == 10


def test_a_verifier_that_was_stopped_gives_no_reward_whatever_it_had_written(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.output.mkdir()
    convention = HarborConvention()
    convention.make_ready(workspace)
    (tmp_path / "logs" / "verifier" / TEXT).write_text("1")
    stopped = Completed(-9, b"halfway", b"", 90.0, "wall")
    with pytest.raises(ScriptBroken, match="was stopped"):
        convention.verdicts(SCRIPT, ["leaf"], stopped, workspace)
