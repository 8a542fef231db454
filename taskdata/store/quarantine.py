"""Everything that a gate or a stage stopped, and what people decided about it."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlmodel import Session, col, select, update

from taskdata.schema.construct import Candidate, CandidateStatus
from taskdata.schema.quarantine import SEED_GATE, Finding, QuarantineDecision
from taskdata.schema.seed import Ended, QuarantinedRow, QuarantineEntry
from taskdata.store.connection import StoreConnection
from taskdata.tables import (
    CandidateRow,
    ConstructionStepRow,
    QuarantineDecisionRow,
    QuarantineRow,
    RefreshRow,
    ReviewRow,
)

_SAFETY = frozenset({"harm", "injection", "personal_data"})
"""Rules of which an override is for the very text that a person has read."""


class QuarantineStore(StoreConnection):
    """Stores and finds rows in quarantine and decisions about them."""

    def quarantined(self, origin: str | None = None) -> list[QuarantinedRow]:
        """Return rejected rows, of one file or refresh or of all, oldest first."""
        known = set(QuarantinedRow.model_fields)
        return [
            QuarantinedRow.model_validate(entry.model_dump(include=known))
            for entry in self.quarantine_entries(origin)
        ]

    def quarantine_entries(
        self, origin: str | None = None, *, item: str | None = None, lasting: bool = False
    ) -> list[QuarantineEntry]:
        """Return what is or was in quarantine, oldest first.

        Args:
            origin: Only of this file or refresh.
            item: Only of this seed, task or candidate.
            lasting: Only entries that have not ended.
        """
        query = select(QuarantineRow).order_by(col(QuarantineRow.id))
        if origin is not None:
            query = query.where(QuarantineRow.origin == origin)
        if item is not None:
            query = query.where(QuarantineRow.item == item)
        if lasting:
            query = query.where(col(QuarantineRow.ended).is_(None))
        with self._reading() as session:
            found = list(session.exec(query))
        return [
            QuarantineEntry.model_validate(row.model_dump(exclude={"id"}) | {"number": row.id})
            for row in found
        ]

    def record_quarantine_decision(
        self, decision: QuarantineDecision, ended: Ended | None, number: int | None = None
    ) -> None:
        """Store a decision, and end by it what it is about.

        Args:
            decision: An override ends the entries of its rule, every other decision all entries
                of its item.
            ended: How the entries end; None: nothing ends by it.
            number: Of a refused row without an id: the entry that ends.
        """
        with self._writing() as session:
            session.add(QuarantineDecisionRow(**decision.model_dump()))
            if ended is not None:
                _end(session, ended, decision.item, decision.rule, number)

    def quarantine_decisions(self, items: Iterable[str]) -> list[QuarantineDecision]:
        """Return the decisions about these seeds, candidates or rows, oldest first.

        Those that made a seed of another one are among the decisions about both.
        """
        named, decided = list(items), QuarantineDecisionRow
        query = (
            select(decided)
            .where(col(decided.item).in_(named) | col(decided.replaced_by).in_(named))
            .order_by(col(QuarantineDecisionRow.id))
        )
        with self._reading() as session:
            rows = [row.model_dump(exclude={"id"}) for row in session.exec(query)]
        return [QuarantineDecision.model_validate(row) for row in rows]

    def overridden_rules(self, items: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return, for those of the items that may break some rule, the names of these rules.

        An override of a rule about safety ends with the next draft: what a model or a person has
        written since was not read by whoever decided.
        """
        rules: dict[str, set[str]] = {}
        for decision in self.quarantine_decisions(items):
            if decision.kind != "override" or decision.rule is None:
                continue
            if decision.rule in _SAFETY and self._is_drafted_since(decision):
                continue
            rules.setdefault(decision.item, set()).add(decision.rule)
        return {item: frozenset(names) for item, names in rules.items()}

    def _is_drafted_since(self, decision: QuarantineDecision) -> bool:
        """Return whether the candidate that a decision is about has another draft by now."""
        steps = select(ConstructionStepRow).where(
            ConstructionStepRow.candidate_id == decision.item, ConstructionStepRow.at > decision.at
        )
        reviews = select(ReviewRow).where(
            ReviewRow.candidate_id == decision.item, ReviewRow.at > decision.at
        )
        with self._reading() as session:
            drafts = [row.step.get("draft") for row in session.exec(steps)]
            drafts += [row.draft for row in session.exec(reviews)]
        return any(draft is not None for draft in drafts)

    def mended_candidates(self, bank: str) -> list[Candidate]:
        """Return the bank's open candidates that have been in quarantine, of any refresh."""
        stopped = select(QuarantineRow.item).where(col(QuarantineRow.item).is_not(None))
        of_seeds = select(QuarantineRow.item).where(QuarantineRow.stage == SEED_GATE)
        query = (
            select(CandidateRow, RefreshRow.config)
            .join(RefreshRow, col(RefreshRow.id) == col(CandidateRow.refresh_id))
            .where(CandidateRow.status == CandidateStatus.OPEN.value)
            .where(
                col(CandidateRow.id).in_(stopped)
                | (
                    (col(CandidateRow.stage) == "generate")
                    & col(CandidateRow.seed_id).in_(of_seeds)
                )
            )
            .order_by(CandidateRow.refresh_id, CandidateRow.task_id)
        )
        with self._reading() as session:
            found = list(session.exec(query))
        return [
            Candidate.model_validate(row.model_dump())
            for row, config in found
            if config["bank"] == bank
        ]

    def move_candidates(self, candidates: Sequence[Candidate], refresh_id: str) -> None:
        """Make the candidates part of another refresh."""
        with self._writing() as session:
            for candidate in candidates:
                row = session.get_one(CandidateRow, candidate.id)
                row.refresh_id = refresh_id
                session.add(row)


def add_findings(session: Session, row: CandidateRow, findings: Iterable[Finding]) -> None:
    """Add an entry per finding about a candidate, as part of a transaction."""
    session.add_all(
        QuarantineRow(
            stage=finding.gate,
            origin=row.refresh_id,
            item=row.id,
            field=finding.field,
            rule=finding.rule,
            value=finding.value,
            reason=finding.reason,
            excerpt="",
            at=datetime.now(UTC),
        )
        for finding in findings
    )


def end_entries(session: Session, ended: Ended, item: str) -> None:
    """End the quarantine of an item, as part of a transaction."""
    _end(session, ended, item, None, None)


def _end(session: Session, ended: Ended, item: str, rule: str | None, number: int | None) -> None:
    query = update(QuarantineRow).where(col(QuarantineRow.ended).is_(None)).values(ended=ended)
    if number is not None:
        query = query.where(col(QuarantineRow.id) == number)
    else:
        query = query.where(col(QuarantineRow.item) == item)
        if rule is not None:
            query = query.where(col(QuarantineRow.rule) == rule)
    session.exec(query)
