"""Releasing a bank: prove it, hold the gate over it, write the release, publish its page."""

from pathlib import Path

from flows.banks.gates import hold_bank_gate
from flows.config import Settings
from flows.gate_docs import write_docs
from stages.construct.proof.adversarial.bank import try_bank
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict, TaskProof
from stages.release.changes import rewriting_table
from stages.release.release import (
    Composition,
    release,
    untried,
    with_evidence,
    without_withdrawn,
)
from taskdata.errors import GateFailed
from taskdata.schema.construct import CandidateStatus, RefreshStatus
from taskdata.schema.release import Proof, ReleaseNotes
from taskdata.schema.rewriting import RewritingTable
from taskdata.schema.run import SandboxName
from taskdata.store import Store

_NAMED = 5


def release_composition(
    settings: Settings, store: Store, composition: Composition, sandbox: SandboxName = "bubblewrap"
) -> ReleaseNotes:
    """Prove every task, hold the gate, write the release and its page; return its notes.

    Cheats are played where none are recorded; what they earn is shown, and stops no release.

    Raises:
        GateFailed: if a task could not be played, or a rule of the gate is broken.
        Misuse: if there is nothing to release.
        StageFailed: if the bank was released by somebody else meanwhile.
    """
    composition = without_withdrawn(store, composition)
    proofs = prove_bank(store, composition.tasks, composition.files, sandbox, home=settings.home)
    _require_played(composition, proofs)
    hold_bank_gate(store, composition, proofs, settings.gates)
    tried = try_bank(store, untried(composition), proofs, sandbox)
    composition = with_evidence(composition, tried, settings.safety)
    notes = release(store, composition, {h: _proof(proof) for h, proof in proofs.items()})
    publish_bank(settings, store, notes)
    if composition.refresh_id is not None:
        _conclude(store, composition.refresh_id, notes.release_hash)
    return notes


def _conclude(store: Store, refresh_id: str, release_hash: str) -> None:
    """Say that the refresh is released, unless some of its candidates are still on their way."""
    if not store.candidates(refresh_id, status=CandidateStatus.OPEN):
        store.set_refresh_status(refresh_id, RefreshStatus.RELEASED, release_hash=release_hash)


def publish_bank(settings: Settings, store: Store, notes: ReleaseNotes) -> Path:
    """Write the page of a release, with the Data Docs of its gates beside it; return its path."""
    from dashboards.bank import build_bank
    from dashboards.run_folder import shared_plotly

    folder = settings.bank_folder(notes.bank) / str(notes.version)
    folder.mkdir(parents=True, exist_ok=True)
    gates = store.bank_gates(notes.refresh_id or notes.bank)
    data_docs = write_docs(settings, store, gates, folder)
    page = folder / "index.html"
    rewriting = _rewriting(store, notes.refresh_id)
    plotly = shared_plotly(folder, settings.site_folder)
    page.write_text(build_bank(store, notes, rewriting, data_docs, plotly), encoding="utf-8")
    return page


def _rewriting(store: Store, refresh_id: str | None) -> RewritingTable | None:
    """Return what rewriting changed in the refresh, None without a refresh or candidates."""
    candidates = store.candidates(refresh_id) if refresh_id else []
    if not candidates:
        return None
    steps = (step for candidate in candidates for step in store.steps(candidate.id))
    return rewriting_table(steps, candidates, store.seeds())


def _require_played(composition: Composition, proofs: dict[str, TaskProof]) -> None:
    # A task that is refused before it is played has no score for the gate to judge.
    lost = [proof for proof in proofs.values() if proof.nop_score is None and not _is_judged(proof)]
    if lost:
        named = ", ".join(proof.task_id for proof in lost[:_NAMED])
        raise GateFailed(
            f"bank {composition.bank!r}: {len(lost)} tasks could not be played: {named}; "
            f"first cause: {'; '.join(lost[0].reasons)}; release again once that is mended"
        )


def _is_judged(proof: TaskProof) -> bool:
    """Whether it was played, though nothing of its tree can be scored without a judge."""
    return proof.verdict is ProofVerdict.UNPROVEN


def _proof(proof: TaskProof) -> Proof:
    return "proven" if proof.verdict is ProofVerdict.PROVEN else "unproven"
