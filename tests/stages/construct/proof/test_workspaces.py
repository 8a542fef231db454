"""A pool proves itself: its programs are run, unchanged, over workspaces of a known verdict."""

import shutil
from pathlib import Path

import pytest

from environments.sandbox.providers import sandbox_provider
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import TaskProof
from stages.release.importing import import_bank
from taskdata.banks.found import find_bank
from taskdata.store import Store, StoreAddress

POOL = Path(__file__).parents[3] / "pool"


def proven(pool: Path, home: Path, *names: str, faults: bool = False) -> dict[str, TaskProof]:
    """Return the proofs of a pool's tasks by name; each is told of on the way, once."""
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    store = Store.open(
        StoreAddress(database_url=f"sqlite:///{home}/n.db", artifacts_url=f"file://{home}/a")
    )
    import_bank(store, "club", "toolathlon", pool)
    told = list[TaskProof]()
    tasks = list(find_bank(store, "club").tasks([f"toolathlon-{name}" for name in names]))
    found = prove_bank(store, tasks, {}, "bubblewrap", told.append, home, faults=faults)
    store.close()
    assert sorted(p.task_id for p in told) == sorted(p.task_id for p in found.values())
    return {p.task_id.removeprefix("toolathlon-"): p for p in found.values()}


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    """The proofs of the small pool, without its dump."""
    home = tmp_path_factory.mktemp("home")
    pool = shutil.copytree(POOL, home / "pool", ignore=shutil.ignore_patterns("db"))
    return proven(Path(pool), home)


@pytest.mark.postgres
def test_a_program_asks_the_database_as_the_dump_makes_it(tmp_path):
    proof = proven(POOL, tmp_path, "member-fees")["member-fees"]
    # Its ground truth passes, and says nothing of what an agent did to the database.
    assert (proof.verdict, proof.nop_score, proof.reasons) == ("proven", 0, ())


@pytest.mark.parametrize("task", ["guest-list", "opening-hours"])
def test_ground_truth_passes_and_an_empty_workspace_does_not(proofs, task):
    proof = proofs[task]
    assert proof.verdict == "proven", proof.reasons
    assert (proof.reference_score, proof.nop_score) == (10, 0)
    assert proof.weaknesses == ()


def test_a_program_that_checks_nothing_is_named(proofs):
    proof = proofs["club-poster"]
    assert proof.verdict == "unproven"
    assert (proof.reference_score, proof.nop_score) == (10, 0)
    assert "checks nothing" in proof.weaknesses[0]
    assert proof.weaknesses[1].endswith("never calls them: check_slides")


def test_faults_in_the_ground_truth_that_a_program_does_not_notice_are_named(tmp_path):
    tried = proven(POOL, tmp_path, "guest-list", "club-poster", faults=True)
    assert tried["guest-list"].weaknesses == ()
    unnoticed = [w for w in tried["club-poster"].weaknesses if "does not notice" in w]
    assert unnoticed
    assert not any("is missing" in fault and "line" not in fault for fault in unnoticed)


def test_a_program_that_wants_a_database_is_no_failure_of_its_task(proofs):
    proof = proofs["member-fees"]
    assert (proof.verdict, proof.nop_score) == ("unproven", None)
    assert "needs a database (it imports psycopg2)" in proof.reasons[0]


def test_a_package_that_is_missing_is_named_though_the_program_swallows_the_error(proofs):
    proof = proofs["stock-take"]
    assert (proof.verdict, proof.nop_score) == ("unproven", None)
    assert "needs the Python package 'club_inventory'" in proof.reasons[0]


def test_a_ground_truth_that_does_not_pass_fails_with_what_the_program_said(proofs):
    proof = proofs["minutes"]
    assert proof.verdict == "failed"
    assert "missing: ['repairs']" in proof.reasons[0]
