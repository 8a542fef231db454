"""A bank of planning cases in one file: what is read, and what is refused with its place."""

import json
import shutil

import pytest

from taskdata.banks import loader
from taskdata.banks.cases import CASES, TOOLS
from taskdata.banks.found import find_bank
from taskdata.banks.loader import bundled_banks, load_bank
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.public import public_task
from taskdata.schema.task import Tier

CASE = "harvest-pie-next-1-7226ae"


@pytest.fixture
def folder(tmp_path):
    """A copy of the bundled bank, with only one case."""
    copy = tmp_path / "cases"
    shutil.copytree(loader.__file__.replace("loader.py", "starter-planning"), copy)
    lines = (copy / CASES).read_text().splitlines()
    (copy / CASES).write_text(next(line for line in lines if f'"{CASE}"' in line[:80]) + "\n")
    return copy


def changed(folder, **fields):
    line = json.loads((folder / CASES).read_text())
    (folder / CASES).write_text(json.dumps(line | fields) + "\n")


def test_a_folder_with_cases_is_a_bank(folder, store):
    (task,) = load_bank(str(folder)).tasks

    assert (task.id, task.tier) == (CASE, Tier.PLANNING)
    assert find_bank(store, str(folder)).ids() == {CASE}
    assert task == load_bank("starter-planning", [CASE]).tasks[0]
    assert "starter-planning" in bundled_banks()


def test_tools_and_prefix_are_filled_in_from_what_the_cases_share(folder):
    (task,) = load_bank(str(folder)).tasks

    plot = next(tool for tool in task.planning.tools if tool.name == "Plot")
    assert plot.description
    assert [step.failed for step in task.planning.prefix] == [False, False, False, True]
    assert "drawing backend" in task.planning.prefix[-1].result


def test_files_are_those_of_the_bundled_bank(folder):
    bank = load_bank(str(folder))

    ((sha256, path),) = bank.files.items()
    assert path.parts[-4:] == ("starter", "harvest-pie", "files", "harvest_2025.csv")
    assert bank.tasks[0].files[0].sha256 == sha256


def test_a_file_that_has_changed_is_named(folder):
    files = json.loads((folder / CASES).read_text())["files"]
    changed(folder, files=[files[0] | {"sha256": "0" * 64}])

    with pytest.raises(BadTaskData, match=r"cases\.jsonl:1: 'harvest_2025\.csv' of task 'harvest"):
        load_bank(str(folder))


@pytest.mark.parametrize("name", ["../../..", "nowhere", 3])
def test_files_come_from_a_bundled_bank_and_from_nowhere_else(folder, name):
    changed(folder, files_of=name)

    with pytest.raises(BadTaskData, match="there is no bundled bank"):
        load_bank(str(folder))


def test_a_line_that_is_no_case_is_named(folder):
    changed(folder, tier="atomic")

    with pytest.raises(BadTaskData, match=r"cases\.jsonl:1: is no planning case"):
        load_bank(str(folder))


def test_a_tool_that_nobody_describes_is_a_fault(folder):
    (folder / TOOLS).write_text("{}")

    with pytest.raises(BadTaskData, match=r"cases\.jsonl:1: is no planning case"):
        load_bank(str(folder))


def test_an_unknown_case_is_named(folder):
    with pytest.raises(Misuse, match="has no task 'other'"):
        load_bank(str(folder), ["other"])


def test_the_public_part_of_a_case_is_what_a_planner_sees():
    for task in load_bank("starter-planning").tasks:
        case = task.planning
        public = public_task(task, "canary")

        assert public.case == case.brief
        told = public.model_dump_json()
        assert all(tool.name in told for tool in case.tools)
        hidden = (case.proof, case.reference.refusal, "distractor", "unsolvable", "optimum")
        assert not [words for words in hidden if words and words in told]
