"""How much of a long result leaves the sandbox: whole where it fits through the pipe."""

import json
from pathlib import Path

import pytest

from environments.tool_runtime.worker import answer
from environments.toolkit.definition import MAX_TEXT_CHARS


@pytest.fixture
def printed(tmp_path: Path):
    (tmp_path / "output").mkdir()

    def run(code: str) -> str:
        return answer("python_execute", {"code": code}, tmp_path).text

    return run


def test_a_long_result_is_whole(printed):
    text = printed("print('é' * 200_000)")
    assert text == "é" * 200_000


@pytest.mark.parametrize("character", ["\\x01", "\\\\"])
def test_what_grows_on_the_way_is_cut_to_the_pipe_and_not_below_an_observation(printed, character):
    text = printed(f"print('{character}' * 480_000)")
    assert len(json.dumps(text)) <= 1_000_000
    assert len(text) >= MAX_TEXT_CHARS
    assert "characters shown" in text
