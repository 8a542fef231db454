"""The starter bank keeps its promises: solved by its own solutions, worth nothing for nothing."""

from collections import Counter

import pytest

import stages.execute.work as executing
import stages.prepare.work as preparing
import stages.score.work as scoring
from flows.gates import hold_gate
from stages.prepare.select import select
from taskdata.banks.loader import load_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Capability, Category, Tier
from taskdata.store import Store, StoreAddress


@pytest.fixture(scope="module")
def bank():
    return load_bank("starter")


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """Every task played by its reference solution and by nobody, scored; yields the store."""
    home = tmp_path_factory.mktemp("proof")
    store = Store.open(
        StoreAddress(database_url=f"sqlite:///{home}/n.db", artifacts_url=f"file://{home}/a")
    )
    agents = (AgentSpec.parse("reference"), AgentSpec.parse("nop"))
    select(store, RunConfig(agents=agents), "proof")
    preparing.do(store, "proof")
    executing.do(store, "proof", 0, home)
    scoring.do(store, "proof", 0)
    yield store
    store.close()


def test_every_reference_solution_earns_full_marks(proved):
    short = {
        r.trial.task_id: [leaf for leaf in r.score.leaves if leaf.score not in (None, 10)]
        for r in proved.results("proof")
        if r.trial.agent == "reference" and r.root_score != pytest.approx(10)
    }
    assert short == {}


def test_no_task_pays_for_doing_nothing(proved):
    paid = {
        r.trial.task_id: r.root_score
        for r in proved.results("proof")
        if r.trial.agent == "nop" and (r.root_score is None or r.root_score > 1)
    }
    assert paid == {}


def test_both_gates_hold(proved):
    for gate in ("tasks", "scores"):
        hold_gate(proved, "proof", gate)


def test_five_tasks_of_each_category_and_eight_atomic_ones_among_them(bank):
    assert Counter(t.category for t in bank.tasks) == dict.fromkeys(Category, 5)
    assert sum(t.tier is Tier.ATOMIC for t in bank.tasks) == 8
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


def test_atomic_answers_come_in_the_gta_forms(bank):
    kinds = Counter(t.answer.kind for t in bank.tasks if t.tier is Tier.ATOMIC)
    assert set(kinds) == {"objective", "subjective", "image_generation"}
    assert all(t.reference.steps for t in bank.tasks)
