"""What is on record of a task beside its results: where it came from, what gates said of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from taskdata.schema.gate import GateFailure, GateResult
from taskdata.schema.night import Night
from taskdata.schema.release import Lineage, ReleaseNotes
from taskdata.schema.task import Provenance
from taskdata.schema.withdrawal import Withdrawal

_MOST_RELEASES = 10
_MOST_FINDINGS = 10


class Release(NamedTuple):
    """A release that holds the task as it is now."""

    bank: str
    version: str
    lineage: Lineage


class TaskGate(NamedTuple):
    """What a gate said of one task, or of trials of it."""

    gate: str
    of: str
    """The run, or the release."""
    findings: tuple[str, ...]
    """Expectations that it broke; empty: the gate had nothing against it."""


class TaskRecord(NamedTuple):
    """What is on record of a task."""

    provenance: Provenance | None = None
    releases: tuple[Release, ...] = ()
    """Newest first."""
    gates: tuple[TaskGate, ...] = ()
    withdrawal: Withdrawal | None = None
    """Its tombstone, if the task was withdrawn."""


def task_records(
    night: Night,
    provenances: Mapping[str, Provenance],
    notes: Sequence[ReleaseNotes],
    gates: Mapping[str, Sequence[GateResult]],
    withdrawals: Mapping[str, Withdrawal],
) -> dict[str, TaskRecord]:
    """Return what is on record of the tasks of a night and of withdrawn ones, by task id.

    Args:
        night: The latest one.
        provenances: By content hash of the task.
        notes: Of releases, newest first.
        gates: Results by what they are of: a run's id, or the name of a release.
        withdrawals: Tombstones by content hash of the task.
    """
    releases: dict[str, list[Release]] = defaultdict(list)
    for note in notes:
        for entry in note.lineage:
            releases[entry.task_hash].append(Release(note.bank, str(note.version), entry))
    findings = {of: [_findings(result, night) for result in own] for of, own in gates.items()}
    # The latest night has no trial of a withdrawn task, whose page stays.
    tombstones = {w.task_id: TaskRecord(withdrawal=w) for w in withdrawals.values()}
    return tombstones | {
        task.task_id: TaskRecord(
            provenances.get(task.task_hash),
            tuple(releases[task.task_hash][:_MOST_RELEASES]),
            tuple(_gates_of(task.task_id, releases[task.task_hash], gates, findings)),
            withdrawals.get(task.task_hash),
        )
        for task in night.tasks
    }


def _gates_of(
    task_id: str,
    releases: Sequence[Release],
    gates: Mapping[str, Sequence[GateResult]],
    findings: Mapping[str, Sequence[Mapping[str, list[str]]]],
) -> Iterable[TaskGate]:
    """Yield the gates of the runs and of the releases that have the task."""
    names = {task_id, *(r.lineage.seed_id for r in releases if r.lineage.seed_id)}
    held_by = {f"{release.bank}@{release.version}" for release in releases}
    for of, results in gates.items():
        if "@" in of and of not in held_by:
            continue
        for result, found in zip(results, findings[of], strict=True):
            said = [text for name in sorted(names) for text in found.get(name, ())]
            yield TaskGate(result.gate, of, tuple(dict.fromkeys(said))[:_MOST_FINDINGS])


def _findings(result: GateResult, night: Night) -> dict[str, list[str]]:
    """Return what broke an expectation by the task, or by the seed query, that it is about."""
    tasks = {trial: cell.task_id for cell in night.cells for trial in cell.trial_ids}
    found: dict[str, list[str]] = defaultdict(list)
    for failure in result.failures:
        for row in failure.rows:
            # Rows of trials begin with the trial's id: `t1/leaf`, `t1 (agent on task, round 0)`.
            trial = row.partition("/")[0].partition(" ")[0]
            found[tasks.get(trial, row)].append(_said(failure))
    for row in result.quarantined:
        if row not in found:
            found[row].append("kept in quarantine")
    return found


def _said(failure: GateFailure) -> str:
    return f"{failure.level.value}: {failure.expectation}"
