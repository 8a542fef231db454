"""The bank `starter-tools`: its references need search, databases, mail, servers and media."""

import pytest

from environments.sandbox.providers import sandbox_provider
from environments.tool_runtime.catalogue import catalogue
from quality.suites.tasks import task_rows
from stages.construct.proof.adversarial.bank import try_bank
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict
from stages.prepare.proofreading import proofread
from stages.score.library import check_library
from taskdata.banks.loader import Bank, load_bank
from taskdata.schema.task import Tier

NAME = "starter-tools"
LIGHT = "museum-panel-facts"
FAULTS = (
    *("tools_named", "unknown_tools", "unknown_checks", "weightless_nodes", "empty_files"),
    *("misnamed_deliverables", "repeated_paths", "reference_tools_not_allowed"),
)


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(NAME)


def test_every_task_is_a_workflow_that_python_alone_does_not_solve(bank):
    for task in bank.tasks:
        assert task.tier is Tier.WORKFLOW
        assert "python_execute" not in task.tools, task.id
        assert task.human_minutes >= 20, task.id
        assert task.checkpoints.checkable_share() >= 0.7, task.id
        assert 5 <= len(task.checkpoints.leaves()) <= 19, task.id
        assert task.checkpoints.depth() in (2, 3), task.id


def test_the_gate_on_tasks_finds_no_fault(bank):
    for row in task_rows(bank.tasks, catalogue(), check_library()):
        assert {name for name in FAULTS if row[name] is not None} == set(), row["task_id"]


def test_nothing_is_misspelt():
    assert proofread(NAME)[1] == ()


def test_a_task_is_solved_with_its_own_search_and_resists_cheats(store):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    bank = load_bank(NAME, [LIGHT])

    proofs = prove_bank(store, bank.tasks, bank.files, "bubblewrap")
    (proof,) = try_bank(store, bank.tasks, proofs, "bubblewrap").values()

    assert (proof.verdict, proof.reasons) == (ProofVerdict.PROVEN, ())
    assert (proof.reference_score, proof.nop_score) == (10, 0)
    assert proof.resistance.best_cheat <= 3
    assert proof.resistance.survivors == ()
