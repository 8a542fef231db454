"""The prove stage: candidates are run before a person reviews them.

Each candidate is run with its reference solution and with the agent that does nothing. Then its
tree scores cheats, and copies of the reference's deliverables with one fault each. If the refresh
is configured so, a model first drafts missing reference solutions, and second solutions that
confirm references.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from environments.models.registry import model_client
from stages.construct.assembling import assembled
from stages.construct.history import RESISTS, WEAK, findings_of, times_weak
from stages.construct.proof import confirming, references
from stages.construct.proof.adversarial.bank import try_bank
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict, TaskProof
from stages.construct.work import Connect, due
from taskdata.errors import BadTaskData
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
)
from taskdata.schema.run import StageReport
from taskdata.schema.task import Task
from taskdata.store import Store
from taskdata.version import code_version

STAGE = Construction.PROVE
_logger = logging.getLogger(__name__)
_MAX_REASON = 1_000
_FIRST = "first cause: "


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Prove the due candidates: next is review, or quarantine with the leaves as evidence.

    A candidate whose tree pays a cheat, or does not notice a fault in what a requirement names, is
    sent back for another tree at most `max_rewrites` times, and then quarantined. A tree that a
    person has edited is not rewritten; review shows the faults that it does not notice.

    A candidate whose trials were lost to infrastructure stays due, and so does one whose solution
    could not be drafted because the model could not be reached; `errors` counts both.

    Raises:
        SandboxFailed: the sandbox does not work on this machine.
        Misuse: the refresh is unknown, or its model cannot be used.
    """
    started = time.monotonic()
    waiting = due(store, refresh_id, STAGE)
    causes: list[str] = []
    config = store.refresh(refresh_id).config
    for is_asked, solving in (
        (config.draft_references, references),
        (config.draft_twice, confirming),
    ):
        if is_asked:
            report = solving.do(store, refresh_id, connect)
            causes += [report.note.removeprefix(_FIRST)] * report.errors
    verdicts, lost = _prove(store, refresh_id)
    causes += lost
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    first = f"{_FIRST}{causes[0]}" if causes else ""
    return StageReport(
        stage=STAGE.value,
        run_id=refresh_id,
        due=len(waiting),
        done=verdicts.total(),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note="; ".join(filter(None, (counted, first))),
    )


def _prove(store: Store, refresh_id: str) -> tuple[Counter[str], list[str]]:
    """Return how many candidates got each verdict, and why the others got none."""
    config = store.refresh(refresh_id).config
    missing = references.due(store, refresh_id) if config.draft_references else []
    missing += confirming.due(store, refresh_id) if config.draft_twice else []
    unsolved = {candidate.id for candidate in missing}
    verdicts, tasks = Counter[str](), list[tuple[Candidate, Task]]()
    for candidate in due(store, refresh_id, STAGE, lambda c: c.id not in unsolved):
        try:
            tasks.append((candidate, assembled(store, candidate)))
        except BadTaskData as exc:
            verdicts[ProofVerdict.FAILED.value] += 1
            _record(store, candidate, ProofVerdict.FAILED.value, (str(exc),), {})
    proofs = prove_bank(store, [task for _, task in tasks], {}, config.sandbox)
    tried = try_bank(store, [task for _, task in tasks], proofs, config.sandbox)
    lost: list[str] = []
    for candidate, task in tasks:
        proof = tried[task.content_hash]
        if proof.verdict is None:
            lost += proof.reasons
            continue
        is_sound = proofs[task.content_hash].verdict is not ProofVerdict.FAILED
        weak = _weaknesses(store, candidate, proof) if is_sound else ()
        verdict, reasons = proof.verdict.value, (*proof.reasons, *proof.weaknesses)
        if weak:
            may_be_mended = times_weak(store.steps(candidate.id)) < config.max_rewrites
            verdict, reasons = WEAK if may_be_mended else ProofVerdict.FAILED.value, weak
        verdicts[verdict] += 1
        facts = proof.model_dump(exclude={"verdict", "reasons", "task_id"})
        _record(store, candidate, verdict, reasons, facts, is_weak=bool(weak))
    return verdicts, lost


def _weaknesses(store: Store, candidate: Candidate, proof: TaskProof) -> tuple[str, ...]:
    """Return why the tree must be rewritten; empty if a person edited it or overrode this rule."""
    found, decisions = proof.resistance, store.reviews(candidate.id)
    if RESISTS in store.overridden_rules([candidate.id]).get(candidate.id, ()):
        return ()
    if found is None or any(decision.draft is not None for decision in decisions):
        return ()
    return (*found.overpaid, *found.unnoticed)


def _record(
    store: Store,
    candidate: Candidate,
    verdict: str,
    reasons: Sequence[str],
    facts: dict[str, Any],
    *,
    is_weak: bool = False,
) -> None:
    has_failed = verdict == ProofVerdict.FAILED
    following = Construction.CHECKPOINTS if verdict == WEAK else Construction.REVIEW
    attempts = [s.attempt for s in store.steps(candidate.id) if s.stage is Construction.PROVE]
    step = ConstructionStep(
        candidate_id=candidate.id,
        stage=Construction.PROVE,
        attempt=max(attempts, default=0) + 1,
        verdict=verdict,
        reasons=tuple(reasons),
        facts=facts,
        cost_usd=0.0,
        code_version=code_version(),
        at=datetime.now(UTC),
    )
    store.record_step(
        step,
        stage=None if has_failed else following,
        status=CandidateStatus.QUARANTINED if has_failed else None,
        reason="; ".join(reasons)[:_MAX_REASON] if has_failed else "",
        findings=findings_of(STAGE, WEAK if is_weak else verdict, reasons, {}),
    )
    _logger.info("candidate %s: %s", candidate.id, verdict)
