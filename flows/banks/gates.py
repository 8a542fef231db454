"""The gates of a refresh: over seeds, over candidates, over what is to be released.

What breaks a rule at level `quarantine` leaves the refresh with its reason on record; a rule at
level `stop` fails the stage.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from environments.tool_runtime.catalogue import catalogue
from flows.gates import Rows, keep
from quality.gates import Suite, hold, quarantine_reasons, require
from quality.safety.personal import masked
from quality.suites.bank import BankFacts, BankRules, bank_rows, bank_suite
from quality.suites.candidates import candidate_rows, candidates_suite
from quality.suites.checkpoint_trees import checkpoint_trees_suite, tree_rows
from quality.suites.files import HEAD_BYTES, file_rows, files_suite
from quality.suites.seeds import SeedRules, seed_rows, seeds_suite
from quality.suites.tasks import TaskRules
from stages.construct.assembling import assembled
from stages.construct.proof.verdict import TaskProof
from stages.release.release import Composition
from stages.score.library import check_library
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import Candidate, CandidateStatus, Construction
from taskdata.schema.gate import GateResult
from taskdata.schema.release import Lineage, ReferenceKind
from taskdata.schema.run import StageReport
from taskdata.schema.safety import SafetyRules
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow
from taskdata.schema.task import Task
from taskdata.store import Store

GATES = ("seeds", "candidates")
"""The gates that a refresh holds as stages; the third, over the bank, is part of the release."""


def hold_refresh_gate(store: Store, refresh_id: str, gate: str) -> StageReport:
    """Hold a gate of a refresh: rows that break it are quarantined with their reasons.

    Raises:
        Misuse: if there is no such gate.
        GateFailed: if a rule at level `stop` is broken; names the rows.
    """
    if gate not in GATES:
        raise Misuse(f"gate {gate!r} is unknown; there are {', '.join(GATES)}")
    started = time.monotonic()
    open_ones = store.candidates(refresh_id, status=CandidateStatus.OPEN)
    if gate == "seeds":
        concerned = [c for c in open_ones if c.stage is Construction.GENERATE and c.seed_id]
        left = _hold_seeds(store, refresh_id, concerned)
    else:
        concerned = [c for c in open_ones if c.stage is Construction.PROVE]
        left = _hold_candidates(store, refresh_id, concerned)
    return StageReport(
        stage=f"gate {gate}",
        run_id=refresh_id,
        due=len(concerned),
        done=len(concerned),
        seconds=time.monotonic() - started,
        note=f"{left} of {len(concerned)} go on",
    )


def _hold_seeds(store: Store, refresh_id: str, concerned: Sequence[Candidate]) -> int:
    by_seed: dict[str, list[Candidate]] = {}
    for candidate in concerned:
        by_seed.setdefault(str(candidate.seed_id), []).append(candidate)
    if not by_seed:
        return 0
    safety = store.refresh(refresh_id).config.safety
    seeds = {seed_id: store.seed(seed_id) for seed_id in by_seed}
    rows = seed_rows([seed.query for seed in seeds.values()], datetime.now(UTC).date())
    result, reasons = _held(store, refresh_id, seeds_suite(SeedRules(safety=safety)), rows)
    for seed_id, said in reasons.items():
        seed = seeds[seed_id]
        store.quarantine(
            [
                QuarantinedRow(
                    stage="gate seeds",
                    origin=seed.origin,
                    row=seed.row,
                    item=seed_id,
                    field="text",
                    reason="; ".join(said),
                    excerpt=masked(seed.query.text)[:EXCERPT_CHARACTERS],
                    at=datetime.now(UTC),
                )
            ]
        )
        for candidate in by_seed[seed_id]:
            _leave(store, candidate, said)
    require(result)
    return len(concerned) - sum(len(by_seed[seed_id]) for seed_id in reasons)


def _hold_candidates(store: Store, refresh_id: str, concerned: Sequence[Candidate]) -> int:
    left: dict[str, tuple[Candidate, Task]] = {}
    for candidate in concerned:
        try:
            left[candidate.task_id] = (candidate, assembled(store, candidate))
        except BadTaskData as exc:
            _leave(store, candidate, (str(exc),))
    tools, checks = list(catalogue()), list(check_library())
    results = []
    safety = store.refresh(refresh_id).config.safety
    for make in (partial(_candidates, safety), _trees, _files):
        tasks = [task for _candidate, task in left.values()]
        if not tasks:
            break
        suite, rows = make(store, tasks, tools, checks)
        result, reasons = _held(store, refresh_id, suite, rows)
        results.append(result)
        for task_id, said in reasons.items():
            _leave(store, left.pop(task_id)[0], said)
    for result in results:
        require(result)
    return len(left)


def _candidates(
    safety: SafetyRules,
    _store: Store,
    tasks: Sequence[Task],
    tools: Sequence[str],
    checks: Sequence[str],
) -> tuple[Suite, Rows]:
    return candidates_suite(TaskRules(), safety), candidate_rows(tasks, tools, checks)


def _trees(
    _store: Store, tasks: Sequence[Task], tools: Sequence[str], _checks: Sequence[str]
) -> tuple[Suite, Rows]:
    return checkpoint_trees_suite(), tree_rows(tasks, tools)


def _files(
    store: Store, tasks: Sequence[Task], _tools: Sequence[str], _checks: Sequence[str]
) -> tuple[Suite, Rows]:
    return files_suite(), file_rows(tasks, _heads(store, tasks))


def _heads(store: Store, tasks: Sequence[Task]) -> dict[str, bytes]:
    heads = {}
    for sha256 in {file.sha256 for task in tasks for file in task.stored_files}:
        head = store.artifacts.head(sha256, HEAD_BYTES)
        if head is not None:
            heads[sha256] = head
    return heads


def hold_bank_gate(
    store: Store, composition: Composition, proofs: Mapping[str, TaskProof]
) -> GateResult:
    """Hold the gate over what is to be released.

    Raises:
        GateFailed: if a rule is broken; names the tasks.
    """
    subject = composition.refresh_id or composition.bank
    by_hash = {entry.task_hash: task for entry, task in _paired(composition)}
    facts = BankFacts(
        artifacts=set(composition.files) | set(_heads(store, composition.tasks)),
        seeds={seed_id for seed_id, _text in store.seed_texts()},
        reference_scores={h: proof.reference_score for h, proof in proofs.items()},
        nop_scores={h: proof.nop_score for h, proof in proofs.items()},
        self_consistent={
            entry.task_hash
            for entry in composition.lineage
            if entry.reference is ReferenceKind.SELF_CONSISTENT
        },
    )
    rules = BankRules(max_self_consistent_share=composition.max_self_consistent_share)
    result, _reasons = _held(store, subject, bank_suite(rules), bank_rows(by_hash, facts))
    require(result)
    return result


def _paired(composition: Composition) -> Iterator[tuple[Lineage, Task]]:
    return zip(composition.lineage, composition.tasks, strict=True)


def _held(
    store: Store, subject: str, suite: Suite, rows: Rows
) -> tuple[GateResult, dict[str, tuple[str, ...]]]:
    result, validation = hold(suite, rows, subject)
    result = keep(store, result, validation)
    store.record_bank_gate(result)
    return result, quarantine_reasons(validation)


def _leave(store: Store, candidate: Candidate, reasons: Sequence[str]) -> None:
    store.set_candidate(candidate.id, status=CandidateStatus.QUARANTINED, reason="; ".join(reasons))
