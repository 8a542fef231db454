"""What `bank show` tells of a planning case."""

import pytest

from flows.cli.bank.cases import write_case
from taskdata.banks.loader import load_bank
from taskdata.schema.planning import Setting


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
