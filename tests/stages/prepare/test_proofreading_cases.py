"""A bank of planning cases is read for the rules that its cases break."""

import json
import shutil
from pathlib import Path

import pytest

from stages.prepare.proofreading import proofread
from taskdata.banks import loader
from taskdata.banks.cases import CASES


@pytest.fixture
def folder(tmp_path):
    """A copy of the bundled bank with its first three cases."""
    copy = tmp_path / "cases"
    shutil.copytree(Path(loader.__file__).parent / "starter-planning", copy)
    lines = (copy / CASES).read_text().splitlines(keepends=True)
    (copy / CASES).write_text("".join(lines[:3]))
    return copy


def test_the_bundled_bank_has_no_fault():
    assert proofread("starter-planning") == (120, ())


def test_a_broken_rule_is_named_with_case_and_line(folder):
    lines = [json.loads(line) for line in (folder / CASES).read_text().splitlines()]
    chain = lines[2]["planning"]["reference"]["chain"]
    chain[0]["arguments"] = {"paht": "input"}
    (folder / CASES).write_text("".join(json.dumps(line) + "\n" for line in lines))

    cases, faults = proofread(str(folder))

    assert cases == 3
    assert {(fault.task, fault.file, fault.line) for fault in faults} == {
        (lines[2]["id"], CASES, 3)
    }
    assert "paht" in faults[0].message


def test_a_line_that_cannot_be_read_is_a_fault(folder):
    (folder / CASES).write_text('{"id": "a"}\n')

    _cases, (fault,) = proofread(str(folder))

    assert "cases.jsonl:1: is no planning case" in fault.message
