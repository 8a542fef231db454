"""Refreshes, candidates and the steps they took.

A step and the resulting state of its candidate are one transaction, so a stage that runs again does
only what is missing.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlmodel import Session, col, desc, func, select

from taskdata.errors import Misuse
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Refresh,
    RefreshStatus,
    ReviewDecision,
    TaskDraft,
)
from taskdata.schema.gate import GateResult
from taskdata.schema.quarantine import Finding
from taskdata.schema.run import StageReport
from taskdata.schema.seed import Ended
from taskdata.store.connection import StoreConnection, not_before
from taskdata.store.quarantine import add_findings, end_entries
from taskdata.tables import (
    BankGateRow,
    CandidateRow,
    ConstructionStepRow,
    RefreshRow,
    RefreshStageRow,
    ReviewRow,
)


class Following(NamedTuple):
    """What follows from the verdicts of reviewers; None: that stays as it is."""

    stage: Construction | None = None
    status: CandidateStatus | None = None
    step: ConstructionStep | None = None


class ConstructionStore(StoreConnection):
    """Stores and finds refreshes, candidates, steps and reviews."""

    def add_refresh(self, refresh: Refresh) -> None:
        """Store a new refresh."""
        fields = refresh.model_dump() | {"config": refresh.config.model_dump(mode="json")}
        with self._writing() as session:
            newest = session.exec(select(func.max(col(RefreshRow.created_at)))).one()
            fields["created_at"] = not_before(refresh.created_at, newest)
            session.add(RefreshRow(**fields))

    def refresh(self, refresh_id: str) -> Refresh:
        """Return the refresh of that id.

        Raises:
            Misuse: if there is none.
        """
        found = self.find_refresh(refresh_id)
        if found is None:
            raise Misuse(f"refresh {refresh_id!r} is not in the store; `nightshift refreshes`")
        return found

    def find_refresh(self, refresh_id: str) -> Refresh | None:
        """Return the refresh of that id, or None."""
        with self._reading() as session:
            row = session.get(RefreshRow, refresh_id)
        return None if row is None else Refresh.model_validate(row.model_dump())

    def refreshes(self) -> list[Refresh]:
        """Return all refreshes, newest first."""
        query = select(RefreshRow).order_by(desc(RefreshRow.created_at), desc(RefreshRow.id))
        with self._reading() as session:
            return [Refresh.model_validate(row.model_dump()) for row in session.exec(query)]

    def set_refresh_status(
        self,
        refresh_id: str,
        status: RefreshStatus,
        error: str | None = None,
        release_hash: str | None = None,
    ) -> None:
        """Record the status of a refresh; a final status also sets its end time."""
        with self._writing() as session:
            row = session.get_one(RefreshRow, refresh_id)
            row.status, row.error = status.value, error
            row.release_hash = release_hash or row.release_hash
            ended = status in (RefreshStatus.RELEASED, RefreshStatus.ENDED, RefreshStatus.FAILED)
            row.finished_at = datetime.now(UTC) if ended else None
            session.add(row)

    def add_candidates(self, candidates: Sequence[Candidate]) -> int:
        """Store the candidates that are not there yet and return how many were new."""
        with self._writing() as session:
            new = [c for c in candidates if session.get(CandidateRow, c.id) is None]
            session.add_all(CandidateRow(**c.model_dump(mode="json")) for c in new)
        return len(new)

    def candidates(
        self,
        refresh_id: str | None = None,
        *,
        stage: Construction | None = None,
        status: CandidateStatus | None = None,
    ) -> list[Candidate]:
        """Return candidates, of one refresh or of all, filtered by due stage and status."""
        query = select(CandidateRow).order_by(CandidateRow.refresh_id, CandidateRow.task_id)
        if refresh_id is not None:
            query = query.where(CandidateRow.refresh_id == refresh_id)
        if stage is not None:
            query = query.where(CandidateRow.stage == stage.value)
        if status is not None:
            query = query.where(CandidateRow.status == status.value)
        with self._reading() as session:
            return [Candidate.model_validate(row.model_dump()) for row in session.exec(query)]

    def candidate(self, candidate_id: str) -> Candidate:
        """Return the candidate of that id.

        Raises:
            Misuse: if there is none.
        """
        with self._reading() as session:
            row = session.get(CandidateRow, candidate_id)
        if row is None:
            raise Misuse(
                f"candidate {candidate_id!r} is not in the store; `nightshift review list`"
            )
        return Candidate.model_validate(row.model_dump())

    def record_step(
        self,
        step: ConstructionStep,
        *,
        stage: Construction | None = None,
        status: CandidateStatus | None = None,
        reason: str = "",
        findings: Sequence[Finding] | None = None,
    ) -> None:
        """Store a step and, in the same transaction, the resulting state of its candidate.

        Args:
            step: The step.
            stage: The stage that is due next; None: the same as before.
            status: The new status of the candidate; None: the same as before.
            reason: Why the status changes.
            findings: What puts it into quarantine, by rule; None: the reason alone says it.
        """
        with self._writing() as session:
            _add_step(session, step)
            _move(session, step.candidate_id, stage, status, reason, findings)

    def set_candidate(
        self,
        candidate_id: str,
        *,
        stage: Construction | None = None,
        status: CandidateStatus | None = None,
        reason: str = "",
        findings: Sequence[Finding] | None = None,
    ) -> None:
        """Record the state of a candidate after something that is no step: a gate, a release.

        The arguments are those of `record_step`; without any finding it is the candidate's seed
        that is in quarantine.
        """
        with self._writing() as session:
            _move(session, candidate_id, stage, status, reason, findings)

    def steps(self, candidate_id: str) -> list[ConstructionStep]:
        """Return the steps of a candidate, oldest first."""
        query = (
            select(ConstructionStepRow)
            .where(ConstructionStepRow.candidate_id == candidate_id)
            .order_by(col(ConstructionStepRow.id))
        )
        with self._reading() as session:
            return [ConstructionStep.model_validate(row.step) for row in session.exec(query)]

    def draft(self, candidate_id: str) -> TaskDraft | None:
        """Return the draft as it stands: of the latest step or edit that has one."""
        drafts = [(s.at, s.draft) for s in self.steps(candidate_id) if s.draft is not None]
        drafts += [(r.at, r.draft) for r in self.reviews(candidate_id) if r.draft is not None]
        return max(drafts, key=lambda dated: dated[0])[1] if drafts else None

    def record_review(
        self,
        decision: ReviewDecision,
        *,
        stage: Construction | None = None,
        status: CandidateStatus | None = None,
    ) -> None:
        """Store a decision and, in the same transaction, the resulting state of its candidate."""
        with self._writing() as session:
            _add_review(session, decision)
            _move(session, decision.candidate_id, stage, status, decision.comment)

    def record_vote(
        self,
        decision: ReviewDecision,
        candidate: Candidate,
        follows: Callable[[Sequence[ReviewDecision]], Following],
    ) -> list[ReviewDecision]:
        """Store a reviewer's verdict, with what follows from all verdicts, in one transaction.

        Args:
            decision: The verdict.
            candidate: What it is about, as the reviewer saw it.
            follows: What the decisions about the candidate, this one included, lead to.

        Returns:
            The decisions, oldest first.

        Raises:
            Misuse: if the candidate has another state by now.
        """
        with self._writing() as session:
            row = session.get_one(CandidateRow, candidate.id, with_for_update=True)
            if (row.stage, row.status) != (candidate.stage.value, candidate.status.value):
                raise Misuse(
                    f"candidate {candidate.task_id!r} was decided about meanwhile; "
                    f"`nightshift review show {candidate.task_id}`"
                )
            _add_review(session, decision)
            session.flush()
            decided = _reviews(session, candidate.id)
            following = follows(decided)
            if following.step is not None:
                _add_step(session, following.step)
            _move(session, candidate.id, following.stage, following.status, decision.comment)
        return decided

    def reviews(self, candidate_id: str) -> list[ReviewDecision]:
        """Return the decisions about a candidate, oldest first."""
        with self._reading() as session:
            return _reviews(session, candidate_id)

    def record_bank_gate(self, result: GateResult) -> None:
        """Store one pass of a gate of the refresh, import or release in the result's `run_id`."""
        with self._writing() as session:
            session.add(
                BankGateRow(
                    subject=result.run_id,
                    gate=result.gate,
                    success=result.success,
                    result=result.model_dump(mode="json"),
                    recorded_at=datetime.now(UTC),
                )
            )

    def bank_gates(self, subject: str) -> list[GateResult]:
        """Return the latest result of each gate of a refresh, import or release."""
        query = (
            select(BankGateRow).where(BankGateRow.subject == subject).order_by(col(BankGateRow.id))
        )
        with self._reading() as session:
            rows = list(session.exec(query))
        latest = {row.gate: GateResult.model_validate(row.result) for row in rows}
        return list(latest.values())

    def record_refresh_stage(self, report: StageReport) -> None:
        """Store one pass of a stage of the refresh named by the report's `run_id`."""
        with self._writing() as session:
            session.add(
                RefreshStageRow(
                    refresh_id=report.run_id,
                    stage=report.stage,
                    report=report.model_dump(mode="json"),
                    recorded_at=datetime.now(UTC),
                )
            )

    def refresh_stages(self, refresh_id: str) -> list[StageReport]:
        """Return every pass of every stage of the refresh, oldest first."""
        query = (
            select(RefreshStageRow)
            .where(RefreshStageRow.refresh_id == refresh_id)
            .order_by(col(RefreshStageRow.id))
        )
        with self._reading() as session:
            return [StageReport.model_validate(row.report) for row in session.exec(query)]


def _add_step(session: Session, step: ConstructionStep) -> None:
    at = not_before(step.at, _last_at(session, step.candidate_id))
    step = step.model_copy(update={"at": at})
    session.add(
        ConstructionStepRow(
            candidate_id=step.candidate_id,
            stage=step.stage.value,
            attempt=step.attempt,
            verdict=step.verdict,
            step=step.model_dump(mode="json"),
            at=step.at,
        )
    )


def _add_review(session: Session, decision: ReviewDecision) -> None:
    written = decision.model_dump(mode="json", include={"draft", "checklist"})
    at = not_before(decision.at, _last_at(session, decision.candidate_id))
    session.add(ReviewRow(**decision.model_dump() | written | {"at": at}))


def _reviews(session: Session, candidate_id: str) -> list[ReviewDecision]:
    query = (
        select(ReviewRow).where(ReviewRow.candidate_id == candidate_id).order_by(col(ReviewRow.id))
    )
    rows = [row.model_dump(exclude={"id"}) for row in session.exec(query)]
    return [ReviewDecision.model_validate(r | {"checklist": r["checklist"] or ()}) for r in rows]


def _last_at(session: Session, candidate_id: str) -> datetime | None:
    """Return when the last step or review of a candidate was; drafts are ordered by it."""
    times = (
        session.exec(select(func.max(col(rows.at))).where(rows.candidate_id == candidate_id)).one()
        for rows in (ConstructionStepRow, ReviewRow)
    )
    return max((at for at in times if at is not None), default=None)


def _move(
    session: Session,
    candidate_id: str,
    stage: Construction | None,
    status: CandidateStatus | None,
    reason: str,
    findings: Sequence[Finding] | None = None,
) -> None:
    row = session.get_one(CandidateRow, candidate_id)
    if stage is not None:
        row.stage = stage.value
    if status is CandidateStatus.QUARANTINED:
        alone = Finding(gate=row.stage, rule=row.stage, reason=reason)
        add_findings(session, row, (alone,) if findings is None else findings)
    elif status is not None and row.status == CandidateStatus.QUARANTINED:
        ended: Ended = "dropped" if status is CandidateStatus.REJECTED else "mended"
        end_entries(session, ended, candidate_id)
    if status is not None:
        row.status, row.reason = status.value, reason
    session.add(row)
