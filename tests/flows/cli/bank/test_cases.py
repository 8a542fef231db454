"""What `bank show` tells of a planning case."""

import json
from collections import Counter

import pytest

from flows.cli.bank.cases import write_case
from taskdata.banks.loader import load_bank
from taskdata.schema.outline import outline
from taskdata.schema.planning import Form, Infeasibility, Setting
from tests.planning_cases import make_case, make_case_task


@pytest.fixture(scope="module")
def cases():
    """One case of each setting."""
    return {t.planning.setting: t.planning for t in load_bank("starter-planning").tasks}


def test_every_setting_is_told_with_tools_reference_rules_and_origin(cases, capsys):
    for setting, case in cases.items():
        write_case(case)

        told = " ".join(capsys.readouterr().out.split())
        assert f"Setting: {setting.value}, asks for " in told
        assert all(f"{tool.name} ({tool.role.value}" in told for tool in case.tools)
        assert f"of the reference solution of task {case.origin.task_id}" in told
        assert "reviewed by the authors of Nightshift" in told
        assert all(action.tool in told for action in case.reference.chain)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (Setting.STEP_WISE, "gave:"),
        (Setting.BROKEN, "failed: Error: "),
        (Setting.UNSOLVABLE, "Refuses: "),
        (Setting.EFFICIENCY, "Least cost: "),
        (Setting.EXTRANEOUS, "(distractor): "),
    ],
)
def test_what_makes_a_setting_is_told(cases, capsys, setting, says):
    write_case(cases[setting])

    assert says in " ".join(capsys.readouterr().out.split())


def test_the_number_of_distractors_and_of_next_actions_is_told(capsys):
    among = make_case(Setting.EXTRANEOUS, form=Form.STEP_WISE, horizon=2, distractors=4)
    write_case(among)

    told = " ".join(capsys.readouterr().out.split())
    assert "Setting: extraneous, asks for the next 2 actions among 4 distractors; text" in told


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (make_case(steps=7), "holistic"),
        (make_case(Setting.STEP_WISE, horizon=3), "step wise, k = 3"),
        (make_case(Setting.EXTRANEOUS, distractors=6), "extraneous, holistic, n = 6"),
        (
            make_case(Setting.EXTRANEOUS, form=Form.STEP_WISE, horizon=2, distractors=8),
            "extraneous, step wise, n = 8, k = 2",
        ),
        (make_case(Setting.BROKEN), "broken, k = 1"),
        (
            make_case(Setting.UNSOLVABLE, infeasibility=Infeasibility.MISSING_INFORMATION),
            "unsolvable, missing information",
        ),
        (make_case(Setting.EFFICIENCY), "efficiency"),
    ],
)
def test_an_outline_says_of_which_setting_a_case_is(case, says):
    assert str(outline(make_case_task("a", case), "0" * 64).case) == says


def test_the_list_of_a_bank_says_of_which_setting_each_case_is(command, home):
    told = json.loads(command("bank", "list", "--bank", "starter-planning", "--json").stdout)
    cases = [task["case"] for task in told["tasks"]]
    kinds = Counter(case["infeasibility"] for case in cases if case["infeasibility"])
    assert Counter(case["setting"] for case in cases)["step_wise"] == 30
    assert set(kinds.values()) == {3}
    assert min(task["steps"] for task in told["tasks"] if task["case"]["setting"] == "holistic") > 0

    shown = command("bank", "list", "--bank", "starter-planning", "--limit", "9").stdout
    assert "step wise, k = " in " ".join(shown.split())
    assert "case" not in command("bank", "list", "--limit", "2").stdout.split("\n")[1]
