"""What keeps a task of an imported file out of the bank, and what a person lets in all the same.

A task is refused by name where its texts or files hold personal data, ask for harm or speak to the
model that reads them, where it was withdrawn and comes back changed, and where it claims a
published form that only the importer of that format gives. Whoever imports may let tasks in, with a
reason, which stays with the release.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from quality.safety.personal import masked
from stages.intake.duplicates import DuplicateIndex
from stages.release.imported_files import ImportedFiles
from stages.release.unsafe import unsafe
from taskdata.banks.loader import bundled_banks, load_bank
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.quarantine import Finding, QuarantineDecision
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.task import GTA_WORKFLOW, Task
from taskdata.schema.withdrawal import Withdrawal
from taskdata.store import Store

GATE = "import"
EVERY = "all"
"""In place of task ids: every task of the file."""


@dataclass(frozen=True)
class LetIn:
    """Tasks that a person lets in whatever is found in them."""

    tasks: frozenset[str]
    """Task ids, or `all`."""
    reason: str
    by: str

    def __post_init__(self) -> None:
        """Require a reason, which the release shows."""
        if self.tasks and not self.reason.strip():
            raise Misuse("--let-in needs --reason, which the release shows")

    def covers(self, task_id: str) -> bool:
        """Return whether that task is let in."""
        return EVERY in self.tasks or task_id in self.tasks


NOBODY = LetIn(frozenset(), "", "")


class Admission:
    """Decides about the tasks of one import."""

    def __init__(
        self,
        store: Store,
        format: str,
        rules: SafetyRules = NOTHING_ALLOWED,
        let_in: LetIn = NOBODY,
    ) -> None:
        self._store, self._format = store, format
        self._rules, self._let_in = rules, let_in
        self._withdrawn = store.withdrawals()
        self._files = ImportedFiles(store.artifacts, rules)
        self.decisions: dict[str, tuple[QuarantineDecision, ...]] = {}
        """By task id: the rules that a let-in task breaks."""

    def tombstone(self, task_hash: str) -> Withdrawal | None:
        """Return the tombstone of exactly this task, which nobody can override."""
        return self._withdrawn.get(task_hash)

    def refused(self, task: Task, task_hash: str, files: Mapping[str, Path]) -> tuple[Finding, ...]:
        """Return why the task stays out; none where nothing is found or it is let in.

        What a finding says holds no personal data. A task that is in the store or in a bundled bank
        as it is has been accepted before.

        Args:
            task: The task.
            task_hash: Its content hash.
            files: The files that came with it, by sha256.
        """
        if task.stored_files and self._is_known(task_hash):
            return ()
        found = tuple(self._findings(task, files))
        if not found or self._is_known(task_hash):
            return ()
        if not self._let_in.covers(task.id):
            return found
        now = datetime.now(UTC)
        self.decisions[task.id] = tuple(
            QuarantineDecision(
                item=task.id,
                kind="override",
                rule=finding.rule,
                found=finding.sentence,
                reason=self._let_in.reason.strip(),
                by=self._let_in.by,
                at=now,
            )
            for finding in found
        )
        return ()

    def _findings(self, task: Task, files: Mapping[str, Path]) -> Iterator[Finding]:
        # The files of a published benchmark are part of what is published.
        read = () if task.provenance.as_published else self._files.inspected(task, files)
        yield from unsafe(task, self._rules, GATE, read)
        if (withdrawn := self._withdrawn_like(task)) is not None:
            yield _finding("withdrawn", withdrawn)
        if task.provenance.as_published and self._format != GTA_WORKFLOW:
            says = (
                f"it claims the form in which {GTA_WORKFLOW} was published, which only "
                f"`bank import {GTA_WORKFLOW}` gives"
            )
            yield _finding("as_published", says)

    def _withdrawn_like(self, task: Task) -> str | None:
        """Return how a task that was withdrawn resembles this one."""
        for tombstone in self._withdrawn.values():
            if tombstone.task_id == task.id:
                return f"a task of this id was withdrawn on {tombstone.told}"
        if not self._withdrawn:
            return None
        like = self._index.alike(task.query)
        if like is None:
            return None
        tombstone = self._withdrawn[like]
        return f"its query is nearly that of {tombstone.task_id}, withdrawn on {tombstone.told}"

    @cached_property
    def _index(self) -> DuplicateIndex:
        index = DuplicateIndex()
        index.learn("task", self._withdrawn_queries())
        return index

    def _withdrawn_queries(self) -> Iterator[tuple[str, str]]:
        for task_hash in self._withdrawn:
            task = self._bundled.get(task_hash) or self._stored(task_hash)
            if task is not None:
                yield task_hash, task.query

    @cached_property
    def _bundled(self) -> dict[str, Task]:
        tasks = (task for bank in bundled_banks() for task in load_bank(bank).tasks)
        return {task.content_hash: task for task in tasks}

    def _is_known(self, task_hash: str) -> bool:
        return task_hash in self._bundled or self._stored(task_hash) is not None

    def _stored(self, task_hash: str) -> Task | None:
        try:
            return self._store.task(task_hash)
        except (Misuse, BadTaskData):
            return None


def _finding(rule: str, reason: str) -> Finding:
    return Finding(gate=GATE, rule=rule, reason=masked(reason))
