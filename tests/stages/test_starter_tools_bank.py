"""The bank `starter-tools`: its references need search, databases, mail, servers and media."""

import asyncio
import os
from pathlib import Path

import pytest

from environments.mcp.install import install
from environments.mcp.servers import PackagedServer, known_servers, server
from environments.sandbox.providers import sandbox_provider
from environments.services.inside.mailboxes import COLUMNS
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.registry import MODULES, definition
from quality.gates import hold
from quality.suites.tasks import TaskRules, task_rows, tasks_suite
from stages.construct.proof.adversarial.bank import try_bank
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict, TaskProof
from stages.prepare.proofreading import proofread
from stages.prepare.work import HOME
from stages.score.checking.leaves import check_leaves
from stages.score.evidence import TrialEvidence
from stages.score.library import check_library
from taskdata.banks.loader import Bank, load_bank
from taskdata.schema.task import Task, Tier
from taskdata.schema.views import CsvView, Table
from taskdata.store import Store
from tests.soak import at_length_only

NAME = "starter-tools"
LIGHT = "museum-panel-facts"
LETTERS, SAFETY = "letters@ostrabars.example", "safety@ostrabars.example"


def servers_of(task: Task) -> tuple[str, ...]:
    return task.environment.servers if task.environment else ()


def proofs_of(bank: Bank, store: Store, home: Path) -> list[TaskProof]:
    """Return the proof of each task, with its cheats and faults."""
    proofs = prove_bank(store, bank.tasks, bank.files, "bubblewrap", home=home)
    return list(try_bank(store, bank.tasks, proofs, "bubblewrap").values())


def require_sound(proof: TaskProof) -> None:
    assert (proof.verdict, proof.reasons) == (ProofVerdict.PROVEN, ()), proof.task_id
    assert (proof.reference_score, proof.nop_score) == (pytest.approx(10), 0), proof.task_id
    assert proof.resistance is not None
    assert proof.resistance.best_cheat <= 3, proof.task_id
    assert proof.resistance.survivors == (), proof.task_id


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
    suite = tasks_suite(TaskRules(needs_check=True), catalogue(), check_library())
    result = hold(suite, task_rows(bank.tasks, catalogue()), NAME)[0]
    assert result.success, result.failures
    assert result.quarantined == ()


def test_nothing_is_misspelt():
    assert proofread(NAME)[1] == ()


def test_servers_have_the_services_that_they_need(bank, tmp_path):
    known = known_servers(tmp_path)
    for task in bank.tasks:
        kinds = {service.kind for service in task.services}
        needed = {known[name].needs.service for name in servers_of(task)}
        assert needed - {None} <= kinds, task.id


def mail(account: str, mailbox: str, subject: str) -> tuple[str, ...]:
    """Return the row of a mail to safety in the table of all messages."""
    cells = {"account": account, "mailbox": mailbox, "subject": subject, "to": SAFETY}
    if account == SAFETY:
        cells["delivered_to"] = SAFETY
    return tuple(cells.get(column, "") for column in COLUMNS)


@pytest.mark.parametrize(
    ("messages", "score"),
    [
        ([(SAFETY, "INBOX"), (SAFETY, "INBOX")], 10),
        ([(LETTERS, "Drafts"), (LETTERS, "Drafts")], 0),
        ([(LETTERS, "Sent"), (LETTERS, "Sent"), (SAFETY, "INBOX"), (SAFETY, "INBOX")], 10),
        ([(LETTERS, "Drafts"), (SAFETY, "INBOX")], 0),
    ],
)
def test_only_letters_that_reached_safety_count_as_forwarded(messages, score):
    (task,) = load_bank(NAME, ["letters-for-campaign"]).tasks
    (leaf,) = (leaf for leaf in task.checkpoints.leaves() if leaf.id == "safety")
    subjects = ("Fwd: My son", "Fwd: A small thing") * 2
    rows = [mail(*place, subject) for place, subject in zip(messages, subjects, strict=False)]
    name = "services/post/messages.csv"
    view = CsvView(table=Table(rows=(COLUMNS, *rows)))
    evidence = TrialEvidence(views={name: view}, delivered=(name,), final_answer="")
    assert asyncio.run(check_leaves([leaf], evidence))["safety"].score == score


def test_a_task_is_solved_with_its_own_search_and_resists_cheats(store):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    (proof,) = proofs_of(load_bank(NAME, [LIGHT]), store, HOME)
    require_sound(proof)


@pytest.mark.soak
@at_length_only
@pytest.mark.node
def test_every_reference_earns_all_and_no_cheat_is_paid(bank, store):
    # Installed once per machine, as in tests/environments/mcp.
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = Path(root) / "nightshift-tests"
    for name in sorted({name for task in bank.tasks for name in servers_of(task)}):
        entry = server(name, home)
        if isinstance(entry, PackagedServer):
            install(entry, home)

    for proof in proofs_of(bank, store, home):
        require_sound(proof)


def test_pictures_sound_and_film_are_read_and_made_by_references(bank):
    used = {step.tool for task in bank.tasks for step in task.reference.steps}
    extras = {name for name in MODULES if definition(name).extra is not None}
    assert extras <= used
    assert {"DrawBox", "AddText", "Prover"} <= used
