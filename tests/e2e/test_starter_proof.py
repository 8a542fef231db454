"""The starter bank gives its own solutions full scores, and the agent that does nothing none."""

import pytest

from flows.gates import hold_gate
from stages.construct.proof.bank import prove_bank
from taskdata.banks.loader import load_bank
from taskdata.store import Store, StoreAddress
from tests.soak import SOAKING

pytestmark = [pytest.mark.e2e, pytest.mark.soak]


def tasks():
    """Return the tasks to prove: every fourth in `make test`, all of them in `make soak`."""
    return load_bank("starter").tasks[:: 1 if SOAKING else 4]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("starter")
    store = Store.open(
        StoreAddress(database_url=f"sqlite:///{home}/n.db", artifacts_url=f"file://{home}/a")
    )
    yield store
    store.close()


@pytest.fixture(scope="module")
def proofs(store):
    """The results of `reference` and `nop` in sandboxes for each task of the bank."""
    bank = load_bank("starter")
    return prove_bank(store, tasks(), bank.files, "bubblewrap")


def test_every_starter_reference_earns_full_marks(proofs):
    short = {
        proof.task_id: proof.reasons
        for proof in proofs.values()
        if proof.reference_score != pytest.approx(10)
    }
    assert short == {}


def test_no_starter_task_pays_for_doing_nothing(proofs):
    paid = {
        proof.task_id: proof.nop_score
        for proof in proofs.values()
        if proof.nop_score is None or proof.nop_score > 1
    }
    assert paid == {}
    assert len(proofs) == len(tasks())


def test_both_gates_hold_over_the_starter_bank(store, proofs):
    (run_id,) = {proof.run_id for proof in proofs.values()}
    results = store.results(run_id)
    assert {result.trial.agent for result in results} == {"reference", "nop"}
    assert len(results) == 2 * len(proofs)
    for gate in ("tasks", "scores"):
        hold_gate(store, run_id, gate)
