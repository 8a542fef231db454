"""Adversarial proof of the whole starter bank."""

import pytest

from environments.sandbox.providers import sandbox_provider
from stages.construct.proof.adversarial.bank import try_bank
from stages.construct.proof.adversarial.report import mutation_score
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict
from taskdata.banks.loader import load_bank
from tests.soak import at_length_only


@pytest.mark.soak
@at_length_only
def test_every_tree_of_the_starter_bank_pays_no_cheat_and_notices_nine_faults_of_ten(store):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    bank = load_bank("starter")
    proofs = prove_bank(store, bank.tasks, bank.files, "bubblewrap")
    tried = try_bank(store, bank.tasks, proofs, "bubblewrap").values()
    found = [proof.resistance for proof in tried]
    assert {p.task_id: p.reasons for p in tried if p.verdict is not ProofVerdict.PROVEN} == {}
    assert sum(one.tried for one in found) > 600
    assert mutation_score(found) >= 0.9
