"""The gates of a refresh: over seeds, over candidates, over what is to be released.

What breaks a rule at level `quarantine` leaves the refresh with its reason on record; a rule at
level `stop` fails the stage.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from environments.tool_runtime.catalogue import catalogue
from flows.gates import Rows, keep
from quality.gates import Suite, hold, quarantine_findings, require
from quality.limits import GateLimits
from quality.outcomes import expectation_outcomes
from quality.safety.meaning import Meanings, find_meanings, with_meanings
from quality.safety.personal import masked
from quality.safety.task_texts import request_of
from quality.suites.bank import BankFacts, bank_rows, bank_suite
from quality.suites.candidates import candidate_rows, candidates_suite
from quality.suites.checkpoint_trees import checkpoint_trees_suite, tree_rows
from quality.suites.files import HEAD_BYTES, file_rows, files_suite
from quality.suites.planning_cases import planning_case_rows, planning_cases_suite
from quality.suites.seeds import seed_rows, seeds_suite
from stages.construct.assembling import assembled
from stages.construct.planning.cases.rules import fingerprint, reference_answer
from stages.construct.proof.verdict import TaskProof
from stages.intake.file_findings import with_recorded
from stages.release.release import Composition
from stages.score.library import check_library
from stages.score.planning.mark import mark
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import Candidate, CandidateStatus, Construction
from taskdata.schema.gate import GateResult
from taskdata.schema.quarantine import Finding
from taskdata.schema.release import Lineage, ReferenceKind
from taskdata.schema.run import StageReport
from taskdata.schema.safety import SafetyRules
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow, StoredSeed
from taskdata.schema.task import Task
from taskdata.store import Store

GATES = ("seeds", "candidates")
"""The gates that a refresh holds as stages; the third, over the bank, is part of the release."""


def hold_refresh_gate(
    store: Store,
    refresh_id: str,
    gate: str,
    limits: GateLimits = GateLimits(),
    only: Collection[str] | None = None,
    home: Path | None = None,
) -> StageReport:
    """Hold a gate of a refresh: rows that break it are quarantined with their reasons.

    Args:
        store: Where the refresh is.
        refresh_id: The refresh.
        gate: `seeds` or `candidates`.
        limits: What the gates ask.
        only: Ids of the candidates that are meant; None: all that have come to the gate.
        home: Folder of the installation's state, with the vectors of texts; None: texts are not
            compared by meaning.

    Raises:
        Misuse: if there is no such gate.
        GateFailed: if a rule at level `stop` is broken; names the rows.
    """
    if gate not in GATES:
        raise Misuse(f"gate {gate!r} is unknown; there are {', '.join(GATES)}")
    started = time.monotonic()
    open_ones = store.candidates(refresh_id, status=CandidateStatus.OPEN)
    open_ones = [c for c in open_ones if only is None or c.id in only]
    safety = store.refresh(refresh_id).config.safety
    meanings = None if home is None or not safety.by_meaning else find_meanings(home)
    if gate == "seeds":
        concerned = [c for c in open_ones if c.stage is Construction.GENERATE and c.seed_id]
        left = _hold_seeds(store, refresh_id, concerned, limits, meanings)
    else:
        concerned = [c for c in open_ones if c.stage is Construction.PROVE]
        left = _hold_candidates(store, refresh_id, concerned, limits, meanings)
    how = f"by {meanings.encoder}" if meanings else "by rules of wording alone"
    return StageReport(
        stage=f"gate {gate}",
        run_id=refresh_id,
        due=len(concerned),
        done=len(concerned),
        seconds=time.monotonic() - started,
        note=f"{left} of {len(concerned)} go on; injection and harm were looked for {how}",
    )


def _hold_seeds(
    store: Store,
    refresh_id: str,
    concerned: Sequence[Candidate],
    limits: GateLimits,
    meanings: Meanings | None,
) -> int:
    by_seed: dict[str, list[Candidate]] = {}
    for candidate in concerned:
        by_seed.setdefault(str(candidate.seed_id), []).append(candidate)
    if not by_seed:
        return 0
    safety = store.refresh(refresh_id).config.safety
    seeds = {seed_id: store.seed(seed_id) for seed_id in by_seed}
    rows = seed_rows([seed.query for seed in seeds.values()], datetime.now(UTC).date())
    texts = [seed.query.text for seed in seeds.values()]
    rows = [with_recorded(store, row) for row in _with_meanings(rows, texts, meanings, safety)]
    overridden = store.overridden_rules(list(seeds))
    suite = seeds_suite(limits.seeds, safety)
    result, found = _held(store, refresh_id, suite, rows, overridden)
    for seed_id, findings in found.items():
        store.quarantine([_entry(seeds[seed_id], finding) for finding in findings])
        for candidate in by_seed[seed_id]:
            # The seed is in quarantine, and the candidate because of it.
            _leave(store, candidate, findings, recorded=())
    require(result)
    return len(concerned) - sum(len(by_seed[seed_id]) for seed_id in found)


def _entry(seed: StoredSeed, finding: Finding) -> QuarantinedRow:
    return QuarantinedRow(
        stage=finding.gate,
        origin=seed.origin,
        row=seed.row,
        item=seed.id,
        field="text",
        rule=finding.rule,
        value=finding.value,
        reason=finding.reason,
        excerpt=masked(seed.query.text)[:EXCERPT_CHARACTERS],
        at=datetime.now(UTC),
    )


def _hold_candidates(
    store: Store,
    refresh_id: str,
    concerned: Sequence[Candidate],
    limits: GateLimits,
    meanings: Meanings | None,
) -> int:
    left: dict[str, tuple[Candidate, Task]] = {}
    for candidate in concerned:
        try:
            left[candidate.task_id] = (candidate, assembled(store, candidate))
        except BadTaskData as exc:
            finding = Finding(gate="gate candidates", rule="is_a_task", reason=str(exc))
            _leave(store, candidate, (finding,))
    tools, checks = list(catalogue()), list(check_library())
    by_id = store.overridden_rules([candidate.id for candidate in concerned])
    overridden = {c.task_id: by_id[c.id] for c in concerned if c.id in by_id}
    results: list[GateResult] = []
    left = _held_cases(store, refresh_id, left, limits, overridden, results)
    safety = store.refresh(refresh_id).config.safety
    for make in (partial(_candidates, safety, meanings), _trees, _files):
        tasks = [task for _candidate, task in left.values()]
        if not tasks:
            break
        suite, rows = make(store, tasks, tools, checks, limits)
        result, found = _held(store, refresh_id, suite, rows, overridden)
        results.append(result)
        for task_id, findings in found.items():
            _leave(store, left.pop(task_id)[0], findings)
    for result in results:
        require(result)
    return len(left)


def _held_cases(
    store: Store,
    refresh_id: str,
    left: Mapping[str, tuple[Candidate, Task]],
    limits: GateLimits,
    overridden: Mapping[str, Collection[str]],
    results: list[GateResult],
) -> dict[str, tuple[Candidate, Task]]:
    """Hold the gate over planning cases, if there are any; return all candidates that go on."""
    cases = [task for _candidate, task in left.values() if task.planning is not None]
    if not cases:
        return dict(left)
    grades = {
        case.id: mark(case, reference_answer(case.planning)).grade
        for case in cases
        if case.planning
    }
    asks = {case.id: fingerprint(case) for case in cases}
    rows = planning_case_rows(cases, grades, asks)
    suite = planning_cases_suite(limits.planning_cases)
    result, found = _held(store, refresh_id, suite, rows, overridden)
    results.append(result)
    for task_id, findings in found.items():
        _leave(store, left[task_id][0], findings)
    return {task_id: one for task_id, one in left.items() if task_id not in found}


def _candidates(
    safety: SafetyRules,
    meanings: Meanings | None,
    _store: Store,
    tasks: Sequence[Task],
    tools: Sequence[str],
    checks: Sequence[str],
    limits: GateLimits,
) -> tuple[Suite, Rows]:
    rows = candidate_rows(tasks, tools)
    rows = _with_meanings(rows, [request_of(task) for task in tasks], meanings, safety)
    return candidates_suite(limits.task_rules, tools, checks, safety), rows


def _with_meanings(
    rows: Rows, texts: Sequence[str], meanings: Meanings | None, safety: SafetyRules
) -> list[dict[str, Any]]:
    if meanings is None:
        return [dict(row) for row in rows]
    found = meanings.found(texts)
    return [
        with_meanings(row, some, safety.allowed_harms)
        for row, some in zip(rows, found, strict=True)
    ]


def _trees(
    _store: Store,
    tasks: Sequence[Task],
    tools: Sequence[str],
    _checks: Sequence[str],
    limits: GateLimits,
) -> tuple[Suite, Rows]:
    return checkpoint_trees_suite(limits.tree_rules), tree_rows(tasks, tools)


def _files(
    store: Store,
    tasks: Sequence[Task],
    _tools: Sequence[str],
    _checks: Sequence[str],
    limits: GateLimits,
) -> tuple[Suite, Rows]:
    return files_suite(limits.files), file_rows(tasks, _heads(store, tasks))


def _heads(store: Store, tasks: Sequence[Task]) -> dict[str, bytes]:
    heads = {}
    for sha256 in {file.sha256 for task in tasks for file in task.stored_files}:
        head = store.artifacts.head(sha256, HEAD_BYTES)
        if head is not None:
            heads[sha256] = head
    return heads


def hold_bank_gate(
    store: Store,
    composition: Composition,
    proofs: Mapping[str, TaskProof],
    limits: GateLimits = GateLimits(),
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
    result, _found = _held(store, subject, bank_suite(limits.bank), bank_rows(by_hash, facts))
    require(result)
    return result


def _paired(composition: Composition) -> Iterator[tuple[Lineage, Task]]:
    return zip(composition.lineage, composition.tasks, strict=True)


def _held(
    store: Store,
    subject: str,
    suite: Suite,
    rows: Rows,
    overridden: Mapping[str, Collection[str]] | None = None,
) -> tuple[GateResult, dict[str, tuple[Finding, ...]]]:
    result, validation = hold(suite, rows, subject, overridden)
    result = keep(store, result, validation)
    store.record_bank_gate(result, expectation_outcomes(validation))
    return result, quarantine_findings(validation)


def _leave(
    store: Store,
    candidate: Candidate,
    findings: Sequence[Finding],
    recorded: Sequence[Finding] | None = None,
) -> None:
    store.set_candidate(
        candidate.id,
        status=CandidateStatus.QUARANTINED,
        reason="; ".join(dict.fromkeys(finding.sentence for finding in findings)),
        findings=findings if recorded is None else recorded,
    )
