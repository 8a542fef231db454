"""Releases: their content, the origin of each task, and the changes since the last one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from quality.bank_statistics import bank_statistics
from stages.construct.assembling import assembled
from stages.construct.history import reference_kind
from stages.construct.proof.verdict import TaskProof
from stages.release.quarantine import decisions_behind
from stages.release.reviewing.agreement import agreement_of
from stages.release.reviewing.evidence import evidence_of, evidence_of_task, with_proof
from stages.release.reviewing.votes import outcome
from taskdata.banks.found import LoadedBank, find_bank
from taskdata.banks.loader import load_bank
from taskdata.errors import Misuse, StageFailed
from taskdata.schema.construct import Candidate, CandidateStatus, Construction, Refresh
from taskdata.schema.release import Lineage, Proof, ReferenceKind, ReleaseNotes, TaskChange
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import Task
from taskdata.schema.withdrawal import Withdrawal
from taskdata.store import Store

BASE = "base"
"""Origin of a task that came with the bank a refresh builds on."""


@dataclass(frozen=True)
class Composition:
    """The content of a release before it is made."""

    bank: str
    tasks: tuple[Task, ...]
    lineage: tuple[Lineage, ...]
    files: Mapping[str, Path] = field(default_factory=dict)
    """Input files that are not in the artifact store yet, by sha256."""
    candidates: tuple[str, ...] = ()
    """Ids of the included candidates."""
    refresh_id: str | None = None
    previous_hash: str | None = None
    """The bank's newest release when this composition was made, which it builds on."""
    withdrawn: tuple[Withdrawal, ...] = ()
    """Tombstones of tasks that are left out for them."""


def compose(store: Store, refresh: Refresh) -> Composition:
    """Return the content of the refresh's release.

    It consists of the current base, the new tasks of earlier releases of the bank, and the
    candidates approved in this refresh; a newer task replaces an older one of the same id.

    Raises:
        Misuse: if the base is unknown.
        BadTaskData: if an approved candidate is not a valid task.
    """
    tasks: dict[str, Task] = {}
    lineage: dict[str, Lineage] = {}
    files: Mapping[str, Path] = {}
    previous = store.find_release(refresh.config.bank)
    if previous is not None:
        made = {entry.task_id: entry for entry in previous.lineage if entry.origin != BASE}
        for task in store.tasks_of_release(previous.release_hash).values():
            if task.id in made:
                tasks[task.id], lineage[task.id] = task, made[task.id]
    if refresh.config.base is not None:
        base = find_bank(store, refresh.config.base)
        files = base.bank.files if isinstance(base, LoadedBank) else {}
        released = store.find_release(refresh.config.base)
        known = {
            entry.task_hash: entry
            for notes in (released, previous)
            if notes is not None
            for entry in notes.lineage
        }
        for task in base.tasks():
            tasks[task.id], lineage[task.id] = task, _from_base(task, known)
    chosen = _approved(store, refresh.id)
    for candidate in chosen:
        task = assembled(store, candidate)
        tasks[task.id], lineage[task.id] = task, _from_candidate(store, candidate, task)
    ids = sorted(tasks)
    return Composition(
        bank=refresh.config.bank,
        tasks=tuple(tasks[i] for i in ids),
        lineage=tuple(lineage[i] for i in ids),
        files=files,
        candidates=tuple(c.id for c in chosen),
        refresh_id=refresh.id,
        previous_hash=previous.release_hash if previous else None,
    )


def compose_bank(name_or_path: str) -> Composition:
    """Return the content of a release of a bundled bank, or of a folder of tasks.

    Raises:
        Misuse: if there is no such bank.
        BadTaskData: if a task is malformed.
    """
    bank = load_bank(name_or_path)
    return Composition(
        bank=bank.name,
        tasks=bank.tasks,
        lineage=tuple(_from_base(task) for task in bank.tasks),
        files=bank.files,
    )


def without_withdrawn(store: Store, composition: Composition) -> Composition:
    """Return the composition without the tasks that were withdrawn.

    Raises:
        Misuse: if no task is left.
    """
    withdrawn = store.withdrawals()
    if composition.tasks and all(t.content_hash in withdrawn for t in composition.tasks):
        raise Misuse(f"bank {composition.bank!r}: all of its tasks were withdrawn")
    out = {e.candidate_id for e in composition.lineage if e.task_hash in withdrawn}
    return replace(
        composition,
        tasks=tuple(t for t in composition.tasks if t.content_hash not in withdrawn),
        lineage=tuple(e for e in composition.lineage if e.task_hash not in withdrawn),
        candidates=tuple(c for c in composition.candidates if c not in out),
        withdrawn=tuple(withdrawn.values()),
    )


def untried(composition: Composition) -> tuple[Task, ...]:
    """Return the tasks for which no cheats are recorded."""
    known = {e.task_hash for e in composition.lineage if e.evidence and e.evidence.adversaries}
    return tuple(task for task in composition.tasks if task.content_hash not in known)


def with_evidence(
    composition: Composition, proofs: Mapping[str, TaskProof], rules: SafetyRules
) -> Composition:
    """Return the composition with what is still unknown about its tasks.

    Args:
        composition: The content of the release.
        proofs: What cheats and mutations showed, by task hash.
        rules: The kinds of personal data and harm that are allowed.
    """
    tasks = {task.content_hash: task for task in composition.tasks}
    lineage = (
        with_proof(entry, tasks[entry.task_hash], proofs.get(entry.task_hash), rules)
        for entry in composition.lineage
    )
    return replace(composition, lineage=tuple(lineage))


def release(
    store: Store, composition: Composition, proofs: Mapping[str, Proof] | None = None
) -> ReleaseNotes:
    """Write the release and its notes; releasing the same tasks again returns the stored notes.

    Args:
        store: The store for the release.
        composition: Its content.
        proofs: Proof by task hash, which overrides the lineage.

    Raises:
        Misuse: if the release would be empty.
        StageFailed: if another release of the bank was made since the composition.
    """
    if not composition.tasks:
        raise Misuse(f"bank {composition.bank!r} would be empty; approve some candidates first")
    previous = store.find_release(composition.bank)
    stored = store.add_release(composition.bank, composition.tasks, composition.files)
    _require_newest(composition, stored.hash, previous)
    notes = store.add_release_notes(_notes(store, composition, stored.hash, previous, proofs or {}))
    for candidate_id in composition.candidates:
        store.set_candidate(
            candidate_id,
            status=CandidateStatus.RELEASED,
            reason=f"{notes.bank}@{notes.version}",
        )
    return notes


def _notes(
    store: Store,
    composition: Composition,
    release_hash: str,
    previous: ReleaseNotes | None,
    proofs: Mapping[str, Proof],
) -> ReleaseNotes:
    lineage = tuple(
        entry.model_copy(update={"proof": proofs.get(entry.task_hash, entry.proof)})
        for entry in composition.lineage
    )
    before = (
        () if previous is None else tuple(store.tasks_of_release(previous.release_hash).values())
    )
    return ReleaseNotes(
        release_hash=release_hash,
        bank=composition.bank,
        version=1,
        previous_hash=previous.release_hash if previous else None,
        snapshot_sha256=store.artifacts.put_bytes(snapshot(composition.tasks)),
        changes=changes(before, composition.tasks, lineage, composition.withdrawn),
        statistics=bank_statistics(composition.tasks),
        lineage=lineage,
        refresh_id=composition.refresh_id,
        agreement=agreement_of(store, composition.refresh_id) if composition.refresh_id else None,
        created_at=datetime.now(UTC),
    )


def _require_newest(composition: Composition, own_hash: str, newest: ReleaseNotes | None) -> None:
    """Refuse to release if a concurrent refresh has released, whose tasks would be dropped."""
    if composition.refresh_id is None or newest is None:
        return
    if newest.release_hash not in (composition.previous_hash, own_hash):
        raise StageFailed(
            f"release: {newest.bank}@{newest.version} came out while this one was being proven; "
            "release again to build on it"
        )


def snapshot(tasks: Sequence[Task]) -> bytes:
    """Return the tasks as JSON Lines in order of their ids: equal banks give equal bytes."""
    lines = [task.canonical_json() for task in sorted(tasks, key=lambda task: task.id)]
    return ("\n".join(lines) + "\n").encode()


def changes(
    before: Sequence[Task],
    after: Sequence[Task],
    lineage: Sequence[Lineage],
    withdrawn: Iterable[Withdrawal] = (),
) -> tuple[TaskChange, ...]:
    """Return the differences between two sets of tasks, by task id, with known reasons."""
    old, new = {t.id: t for t in before}, {t.id: t for t in after}
    origin = {entry.task_id: entry for entry in lineage}
    tombstones = {tombstone.task_hash: tombstone for tombstone in withdrawn}
    found = []
    for task_id in sorted(old.keys() | new.keys()):
        if task_id not in new:
            tombstone = tombstones.get(old[task_id].content_hash)
            why = "no longer in the bank it came from"
            if tombstone is not None:
                why = f"withdrawn on {tombstone.told}"
            found.append(TaskChange(task_id=task_id, kind="removed", why=why))
        elif task_id not in old:
            why = _why(origin.get(task_id))
            found.append(TaskChange(task_id=task_id, kind="added", why=why))
        elif old[task_id].content_hash != new[task_id].content_hash:
            fields = _differing(old[task_id], new[task_id])
            why = _why(origin.get(task_id))
            found.append(TaskChange(task_id=task_id, kind="changed", fields=fields, why=why))
    return tuple(found)


def diff(store: Store, first: str, second: str) -> tuple[TaskChange, ...]:
    """Return what changed from the first release to the second.

    Raises:
        Misuse: if a release is not in the store.
    """
    one, two = _require(store, first), _require(store, second)
    return changes(
        tuple(store.tasks_of_release(one.release_hash).values()),
        tuple(store.tasks_of_release(two.release_hash).values()),
        two.lineage,
        store.withdrawals().values(),
    )


def _require(store: Store, name: str) -> ReleaseNotes:
    found = store.find_release(name)
    if found is None:
        known = ", ".join(f"{n.bank}@{n.version}" for n in store.release_notes()[:10]) or "none"
        raise Misuse(
            f"release {name!r} is not in the store; there are: {known}; "
            "`nightshift bank release --bank NAME` makes one of a bundled bank or a folder"
        )
    return found


def _differing(old: Task, new: Task) -> tuple[str, ...]:
    names = type(old).model_fields
    return tuple(name for name in names if getattr(old, name) != getattr(new, name))


def _why(entry: Lineage | None) -> str:
    if entry is None:
        return "its origin is not recorded"
    if entry.refresh_id is None:
        return f"came with {entry.origin}"
    made = f"seed {entry.seed_id} ({entry.seed_source})" if entry.seed_id else "a task of the base"
    aim = "" if entry.origin == "seed" else f" by {entry.origin}"
    reviewer = f", approved by {entry.reviewer}" if entry.reviewer else ""
    return f"made from {made}{aim} in refresh {entry.refresh_id}{reviewer}"


def _approved(store: Store, refresh_id: str) -> list[Candidate]:
    return [
        candidate
        for status in (CandidateStatus.APPROVED, CandidateStatus.RELEASED)
        for candidate in store.candidates(refresh_id, status=status)
    ]


def supplied_reference(task: Task) -> ReferenceKind:
    """Return the kind of reference of a task from another bank."""
    has_none = task.reference is None and task.planning is None
    return ReferenceKind.NONE if has_none else ReferenceKind.SUPPLIED


def _from_base(task: Task, known: Mapping[str, Lineage] = {}) -> Lineage:
    before = known.get(task.content_hash)
    return Lineage(
        task_id=task.id,
        task_hash=task.content_hash,
        # Until there is a proof: the claim of a base task itself is no proof.
        proof="unproven",
        origin=BASE,
        reference=(before and before.reference) or supplied_reference(task),
        decisions=before.decisions if before else (),
        evidence=(before and before.evidence) or evidence_of_task(task),
    )


def _from_candidate(store: Store, candidate: Candidate, task: Task) -> Lineage:
    steps, decisions = store.steps(candidate.id), store.reviews(candidate.id)
    draft = store.draft(candidate.id)
    proofs = [step.verdict for step in steps if step.stage is Construction.PROVE]
    votes = outcome(decisions, store.refresh(candidate.refresh_id).config.reviewers).votes
    approvals = [vote.reviewer for vote in votes if vote.decision == "approve"]
    items = [candidate.id, *filter(None, [candidate.seed_id])]
    stopped = [entry for item in items for entry in store.quarantine_entries(item=item)]
    return Lineage(
        task_id=task.id,
        task_hash=task.content_hash,
        proof="proven" if proofs[-1:] == ["proven"] else "unproven",
        origin=candidate.origin.value,
        seed_id=candidate.seed_id,
        seed_source=task.provenance.source if candidate.seed_id else None,
        candidate_id=candidate.id,
        refresh_id=candidate.refresh_id,
        prompts=_distinct(step.prompt_version for step in steps),
        models=_distinct(step.model_id for step in steps),
        reviewer=" and ".join(approvals) or None,
        reference=reference_kind(draft, steps, decisions) if draft else ReferenceKind.NONE,
        decisions=decisions_behind(store, candidate),
        evidence=evidence_of(draft, steps, stopped, votes),
    )


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))
