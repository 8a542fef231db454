"""What the starter bank promises to hold; tests/e2e/test_starter_proof.py plays its tasks."""

from collections import Counter
from pathlib import Path

import pytest

from environments.tool_runtime.host_registry import HOST_MODULES
from environments.tool_runtime.registry import MODULES, definition
from stages.prepare.select import sampled
from taskdata.banks.loader import load_bank
from taskdata.schema.task import Capability, Category, Tier


@pytest.fixture(scope="module")
def bank():
    return load_bank("starter")


def test_every_category_has_at_least_five_tasks_and_two_atomic_ones_among_them(bank):
    of_each = Counter(t.category for t in bank.tasks)
    assert set(of_each) == set(Category)
    assert min(of_each.values()) >= 5
    atomic = Counter(t.category for t in bank.tasks if t.tier is Tier.ATOMIC)
    assert atomic == dict.fromkeys(Category, 2)
    assert {c for t in bank.tasks for c in t.capabilities} == set(Capability)


def test_the_deliverables_cover_the_file_types_of_office_work(bank):
    types = {d.type.value for t in bank.tasks for d in t.deliverables}
    assert {"xlsx", "docx", "pptx", "pdf", "html", "png", "json", "wav"} <= types


def test_a_workflow_tree_is_checked_by_code_for_at_least_70_percent(bank):
    for task in bank.tasks:
        if task.tier is Tier.WORKFLOW:
            assert task.checkpoints.checkable_share() >= 0.7, task.id
            assert 3 <= len(task.checkpoints.leaves()) <= 19, task.id
            assert task.checkpoints.depth() in (2, 3), task.id
            assert task.human_minutes >= 20, task.id


def test_the_readme_counts_the_tasks(bank):
    said = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    assert f"over {2 * len(Category)} of the {len(bank.tasks)} tasks of the starter bank" in said


def test_a_newcomers_sample_needs_no_tool_of_an_extra(bank):
    chosen = sampled(bank.tasks, 2)
    tools = {tool for task in chosen for tool in task.tools if tool in MODULES}
    assert len(chosen) == 2 * len(Category)
    assert {tool for tool in tools if definition(tool).extra is not None} == set()
    assert {task.id for task in chosen for tool in task.tools if tool in HOST_MODULES} == set()


def test_atomic_answers_come_in_the_gta_forms(bank):
    kinds = Counter(t.answer.kind for t in bank.tasks if t.tier is Tier.ATOMIC)
    assert set(kinds) == {"objective", "subjective", "image_generation"}
    assert all(t.reference.steps for t in bank.tasks)
