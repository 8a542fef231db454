"""Misspelt words of a bank are found by a command that needs no server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import taskdata.banks

STARTER = Path(taskdata.banks.__file__).parent / "starter"


def test_a_misspelt_argument_is_named_and_ends_with_exit_code_2(command, tmp_path):
    task = tmp_path / "bank" / "ferry-day-trip"
    shutil.copytree(STARTER / task.name, task)
    assert "No fault found in 1 tasks" in command("bank", "check", str(tmp_path / "bank")).stdout

    text = (task / "task.yaml").read_text()
    (task / "task.yaml").write_text(text.replace("args: {all:", "args: {al:", 1))
    done = command("bank", "check", str(tmp_path / "bank"))
    assert done.returncode == 2
    assert "ferry-day-trip/task.yaml:33:" in done.stdout
    assert "did you mean 'all'?" in done.stdout

    done = command("bank", "check", str(task), "--json")
    assert done.returncode == 2
    (fault,) = json.loads(done.stdout)["faults"]
    assert (fault["line"], fault["near"]) == (33, ["all"])


def test_nothing_heavy_is_imported():
    program = (
        "import sys\n"
        "from stages.prepare.proofreading import proofread\n"
        "assert proofread('starter')[1] == ()\n"
        "heavy = ('prefect', 'great_expectations', 'plotly', 'pandas', 'openai', 'distributed')\n"
        "assert not [name for name in heavy if name in sys.modules]\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
