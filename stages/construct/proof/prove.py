"""The prove stage: candidates are run before a person reviews them.

Each is run with its reference solution and with the agent that does nothing. If the refresh is
configured so, a model first drafts missing reference solutions.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from environments.models.registry import model_client
from stages.construct.assembling import assembled
from stages.construct.proof import references
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict
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

    A candidate whose trials were lost to infrastructure stays due, and so does one whose solution
    could not be drafted because the model could not be reached; `errors` counts both.

    Raises:
        SandboxFailed: the sandbox does not work on this machine.
        Misuse: the refresh is unknown, or its model cannot be used.
    """
    started = time.monotonic()
    waiting = due(store, refresh_id, STAGE)
    causes: list[str] = []
    if store.refresh(refresh_id).config.draft_references:
        drafting = references.do(store, refresh_id, connect)
        causes += [drafting.note.removeprefix(_FIRST)] * drafting.errors
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


def _prove(store: Store, refresh_id: str) -> tuple[Counter[ProofVerdict], list[str]]:
    """Return how many candidates got each verdict, and why the others got none."""
    config = store.refresh(refresh_id).config
    missing = references.due(store, refresh_id) if config.draft_references else []
    undrafted = {candidate.id for candidate in missing}
    verdicts, tasks = Counter[ProofVerdict](), list[tuple[Candidate, Task]]()
    for candidate in due(store, refresh_id, STAGE, lambda c: c.id not in undrafted):
        try:
            tasks.append((candidate, assembled(store, candidate)))
        except BadTaskData as exc:
            verdicts[ProofVerdict.FAILED] += 1
            _record(store, candidate, ProofVerdict.FAILED, (str(exc),), {})
    proofs = prove_bank(store, [task for _, task in tasks], {}, config.sandbox)
    lost: list[str] = []
    for candidate, task in tasks:
        proof = proofs[task.content_hash]
        if proof.verdict is None:
            lost += proof.reasons
            continue
        verdicts[proof.verdict] += 1
        facts = proof.model_dump(exclude={"verdict", "reasons", "task_id"})
        _record(store, candidate, proof.verdict, proof.reasons, facts)
    return verdicts, lost


def _record(
    store: Store,
    candidate: Candidate,
    verdict: ProofVerdict,
    reasons: Sequence[str],
    facts: dict[str, Any],
) -> None:
    has_failed = verdict is ProofVerdict.FAILED
    attempts = [s.attempt for s in store.steps(candidate.id) if s.stage is Construction.PROVE]
    step = ConstructionStep(
        candidate_id=candidate.id,
        stage=Construction.PROVE,
        attempt=max(attempts, default=0) + 1,
        verdict=verdict.value,
        reasons=tuple(reasons),
        facts=facts,
        cost_usd=0.0,
        code_version=code_version(),
        at=datetime.now(UTC),
    )
    store.record_step(
        step,
        stage=None if has_failed else Construction.REVIEW,
        status=CandidateStatus.QUARANTINED if has_failed else None,
        reason="; ".join(reasons)[:_MAX_REASON] if has_failed else "",
    )
    _logger.info("candidate %s: %s", candidate.id, verdict.value)
