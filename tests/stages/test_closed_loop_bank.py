"""The references of the bank `starter-closed-loop` look at their work and then correct it."""

import os
import shutil
from pathlib import Path

import pytest
import yaml

import taskdata.banks
from environments.mcp.install import install
from environments.mcp.servers import PackagedServer, known_servers, server
from environments.tool_runtime.catalogue import catalogue
from quality.gates import hold
from quality.suites.tasks import TaskRules, task_rows, tasks_suite
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict
from stages.prepare.proofreading import proofread
from stages.score.library import check_library
from taskdata.banks.loader import Bank, load_bank
from taskdata.schema.package import Difficulty, Family
from tests.soak import at_length_only

NAME = "starter-closed-loop"
LOOKS = {"view_file", "audio_timeline", "SoundCharacteristicExtraction"}
FIRST_TRIES = {
    "bakery-week-takings": ("view_file", "thursday"),
    "bike-care-slides": ("view_file", "fits"),
    "harbour-bench-plaque": ("draw_text", "right_free"),
    "plot-water-notice": ("convert_to_pdf", "one_page"),
    "seed-library-stock": ("execute_sql", "marvels"),
    "tour-stop-recording": ("AudioClipTool", "first"),
}
"""The tool that ends the first try of each task, and a leaf that sees its defect."""
FAULTS = (
    *("tools_named", "unknown_tools", "unknown_checks", "weightless_nodes", "empty_files"),
    *("misnamed_deliverables", "repeated_paths", "reference_tools_not_allowed"),
    "misplaced_subcategory",
)
_SQL_BEFORE_THE_LOOK = 3


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(NAME, list(FIRST_TRIES))


def test_the_tasks_use_servers_of_the_catalogue(bank, tmp_path):
    known = known_servers(tmp_path)
    used = [set(task.environment.servers) for task in bank.tasks]

    assert all(used)
    assert set().union(*used) <= set(known)
    for task in bank.tasks:
        kinds = {service.kind for service in task.services}
        for name in task.environment.servers:
            needs = known[name].needs if isinstance(known[name], PackagedServer) else None
            assert needs is None or needs.service is None or needs.service in kinds


def test_the_families_are_those_of_the_benchmark(bank):
    packages = [task.package for task in bank.tasks]

    assert {package.family for package in packages} == set(Family)
    assert len({package.subcategory for package in packages}) == len(FIRST_TRIES)
    assert {package.difficulty for package in packages} == set(Difficulty)
    assert all(package.role and package.domain_rules for package in packages)
    assert all(task.checkpoints.rule == "all_required" for task in bank.tasks)


def test_a_tree_is_checked_by_code_for_at_least_70_percent(bank):
    for task in bank.tasks:
        assert task.checkpoints.checkable_share() >= 0.7, task.id
        assert 3 <= len(task.checkpoints.leaves()) <= 19, task.id
        assert task.checkpoints.depth() in (2, 3), task.id


def test_every_reference_looks_mends_and_looks_again(bank):
    for task in bank.tasks:
        names = [step.tool for step in task.reference.steps]
        looks = [n for n, tool in enumerate(names) if tool in LOOKS or tool == "execute_sql"]
        made = [n for n, tool in enumerate(names) if tool not in LOOKS | {"read_file", "ReadCSV"}]
        first_made, last_made = made[0], made[-1]
        assert any(first_made < look < last_made for look in looks), task.id


def test_the_gate_on_tasks_finds_no_fault(bank):
    suite = tasks_suite(TaskRules(), catalogue(), check_library())
    result, _ = hold(suite, task_rows(bank.tasks, catalogue()), NAME)

    assert [f for f in result.failures if f.rule in FAULTS] == []


def test_nothing_is_misspelt():
    assert proofread(NAME)[1] == ()


def first_try(folder: Path, task_id: str) -> None:
    """Cut a task's reference off before it corrects the fault that it has seen."""
    path = folder / task_id / "reference" / "solution.yaml"
    solution = yaml.safe_load(path.read_text())
    ending, steps = FIRST_TRIES[task_id][0], solution["steps"]
    tries = [number for number, step in enumerate(steps) if step["tool"] == ending]
    last = tries[_SQL_BEFORE_THE_LOOK] if ending == "execute_sql" else tries[0]
    solution["steps"] = steps[: last + 1]
    path.write_text(yaml.safe_dump(solution))


@pytest.mark.soak
@at_length_only
@pytest.mark.office
@pytest.mark.node
def test_references_earn_all_and_first_tries_fail_where_their_defect_is(store, tmp_path: Path):
    # Installed once per machine, as in tests/environments/mcp.
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = Path(root) / "nightshift-tests"
    bank = load_bank(NAME, list(FIRST_TRIES))
    for name in sorted({name for task in bank.tasks for name in task.environment.servers}):
        entry = server(name, home)
        if isinstance(entry, PackagedServer):
            install(entry, home)

    proofs = prove_bank(store, bank.tasks, bank.files, "bubblewrap", home=home)

    said = {proof.task_id: (proof.verdict, proof.reasons) for proof in proofs.values()}
    assert said == {task.id: (ProofVerdict.PROVEN, ()) for task in bank.tasks}

    copy = tmp_path / "first-tries"
    shutil.copytree(Path(taskdata.banks.__file__).parent / NAME, copy)
    for task_id in FIRST_TRIES:
        first_try(copy, task_id)
    tried = load_bank(str(copy), list(FIRST_TRIES))
    proofs = prove_bank(store, tried.tasks, tried.files, "bubblewrap", home=home)
    for proof in proofs.values():
        assert proof.verdict is ProofVerdict.FAILED
        assert f"leaf {FIRST_TRIES[proof.task_id][1]}: " in str(proof.reasons), proof
