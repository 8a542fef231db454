"""docs/task-bank.md, command after command: 25 requests become a released bank."""

import json
import re
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "docs" / "task-bank.md"


def commands():
    for block in re.findall(r"```bash\n(.*?)```", STORY.read_text(), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "nightshift":
                yield words[1:]


def test_the_documented_run_gives_the_documented_numbers(tmp_path, command, documented_model):
    home = tmp_path / "home"
    said = {}
    for words in commands():
        # Whole nights have tests of their own; here the options must exist.
        extra = ["--help"] if words[0] == "run" else []
        done = command.run(home, *words, *extra, cwd=ROOT)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        said[" ".join(words[:2])] = done.stdout

    (refresh,) = command.read(home, "refreshes")["refreshes"]
    assert (refresh["status"], refresh["release"]) == ("released", "office@1")
    assert refresh["candidates"] == {"deleted": 1, "quarantined": 3, "rejected": 1, "released": 21}
    release = json.loads(command.run(home, "bank", "release", "--json").stdout)
    made = [task for task in release["lineage"] if task["origin"] != "base"]
    assert len(made) == 21
    assert sum(task["proof"] == "proven" for task in made) == 8
    assert {task["proof"] for task in release["lineage"] if task["origin"] == "base"} == {"proven"}
    assert "an unknown amount of money" in said["refresh --dry-run"]
