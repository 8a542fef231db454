"""Marks that people gave to plans, and the cards of judges of plans, in the store."""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.plan_agreement import GivenMarks, PlanAnnotation, PlanJudgeCard
from taskdata.store.connection import StoreConnection
from taskdata.tables import PlanAnnotationRow, PlanCardRow, TrialRow


class PlanMarksStore(StoreConnection):
    """Stores and finds people's marks of plans and the cards of judges of plans."""

    def save_plan_annotation(self, annotation: PlanAnnotation) -> None:
        """Store a person's marks of a plan; later ones take their place."""
        same = (
            col(PlanAnnotationRow.trial_id) == annotation.trial_id,
            col(PlanAnnotationRow.annotator) == annotation.annotator,
        )
        with self._writing() as session:
            row = session.exec(select(PlanAnnotationRow).where(*same)).first()
            row = row or PlanAnnotationRow.model_validate(annotation.model_dump(mode="json"))
            row.marks = annotation.marks.model_dump(mode="json")
            row.note, row.at = annotation.note, datetime.now(UTC)
            session.add(row)

    def plan_annotations(self, run_id: str, annotator: str | None = None) -> list[PlanAnnotation]:
        """Return the marks that people gave to a run's plans, the first ones first."""
        query = (
            select(PlanAnnotationRow)
            .join(TrialRow, sa.and_(col(TrialRow.id) == col(PlanAnnotationRow.trial_id)))
            .where(TrialRow.run_id == run_id)
            .order_by(col(PlanAnnotationRow.id))
        )
        if annotator is not None:
            query = query.where(PlanAnnotationRow.annotator == annotator)
        with self._reading() as session:
            rows = list(session.exec(query))
        return [
            PlanAnnotation(
                trial_id=row.trial_id,
                annotator=row.annotator,
                marks=GivenMarks.model_validate(row.marks),
                note=row.note,
            )
            for row in rows
        ]

    def save_plan_card(self, card: PlanJudgeCard) -> None:
        """Store the card of a judge of plans, in place of the one before."""
        row = PlanCardRow(judge=card.judge, made_at=card.made_at, card=card.model_dump_json())
        with self._writing() as session:
            session.merge(row)

    def plan_cards(self) -> list[PlanJudgeCard]:
        """Return the cards of all judges of plans, by judge."""
        with self._reading() as session:
            rows = list(session.exec(select(PlanCardRow).order_by(PlanCardRow.judge)))
        return [PlanJudgeCard.model_validate_json(row.card) for row in rows]
