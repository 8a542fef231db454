"""What people scored and labelled and how far others agree with them, in the store."""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlmodel import col, select

from taskdata.schema.agreement import Annotation, JudgeCard
from taskdata.schema.label_agreement import GivenLabels, LabelAnnotation, LabelCard
from taskdata.schema.task import Tier
from taskdata.store.connection import StoreConnection
from taskdata.tables import (
    AnnotationRow,
    JudgeCardRow,
    LabelAnnotationRow,
    LabelCardRow,
    LeafScoreRow,
    TrialRow,
)

JUDGE = "judge:"
"""What the label of a judge begins with in leaf scores."""


class AgreementStore(StoreConnection):
    """Stores and finds annotations and the cards of judges and labellers."""

    def save_annotation(self, annotation: Annotation) -> None:
        """Store a person's score, in a transaction of its own; a later one takes its place."""
        same = (
            col(AnnotationRow.trial_id) == annotation.trial_id,
            col(AnnotationRow.leaf_id) == annotation.leaf_id,
            col(AnnotationRow.annotator) == annotation.annotator,
        )
        with self._writing() as session:
            row = session.exec(select(AnnotationRow).where(*same)).first()
            row = row or AnnotationRow.model_validate(annotation.model_dump())
            row.score, row.at = annotation.score, datetime.now(UTC)
            session.add(row)

    def annotations(self, run_id: str, annotator: str | None = None) -> list[Annotation]:
        """Return the scores that people gave to leaves of a run's trials, the first ones first."""
        query = (
            select(AnnotationRow)
            .join(TrialRow, sa.and_(col(TrialRow.id) == col(AnnotationRow.trial_id)))
            .where(TrialRow.run_id == run_id)
            .order_by(col(AnnotationRow.id))
        )
        if annotator is not None:
            query = query.where(AnnotationRow.annotator == annotator)
        with self._reading() as session:
            rows = list(session.exec(query))
        return [
            Annotation(
                trial_id=row.trial_id, leaf_id=row.leaf_id, annotator=row.annotator, score=row.score
            )
            for row in rows
        ]

    def judges_of_run(self, run_id: str, *, plans: bool = False) -> list[str]:
        """Return the judges that gave a run's leaves a score, with their prompts' versions.

        Args:
            run_id: The run.
            plans: Whether those of plans are wanted instead, who answer another question.
        """
        is_plan = col(TrialRow.tier) == Tier.PLANNING
        query = (
            select(LeafScoreRow.verifier)
            .join(TrialRow, sa.and_(col(TrialRow.id) == col(LeafScoreRow.trial_id)))
            .where(TrialRow.run_id == run_id)
            .where(is_plan if plans else ~is_plan)
            .where(col(LeafScoreRow.verifier).startswith(JUDGE, autoescape=True))
            .where(col(LeafScoreRow.score).is_not(None))
            .distinct()
        )
        with self._reading() as session:
            labels = list(session.exec(query))
        return sorted(label.removeprefix(JUDGE) for label in labels)

    def save_judge_card(self, card: JudgeCard) -> None:
        """Store the card of a judge, in place of the one before."""
        row = JudgeCardRow(judge=card.judge, made_at=card.made_at, card=card.model_dump_json())
        with self._writing() as session:
            session.merge(row)

    def judge_card(self, judge: str) -> JudgeCard | None:
        """Return the card of a judge; None where there is none."""
        with self._reading() as session:
            row = session.get(JudgeCardRow, judge)
        return None if row is None else JudgeCard.model_validate_json(row.card)

    def judge_cards(self) -> list[JudgeCard]:
        """Return all cards, by judge."""
        with self._reading() as session:
            rows = list(session.exec(select(JudgeCardRow).order_by(JudgeCardRow.judge)))
        return [JudgeCard.model_validate_json(row.card) for row in rows]

    def save_label_annotation(self, annotation: LabelAnnotation) -> None:
        """Store a person's failure labels of a trial; later ones take their place."""
        same = (
            col(LabelAnnotationRow.trial_id) == annotation.trial_id,
            col(LabelAnnotationRow.annotator) == annotation.annotator,
        )
        with self._writing() as session:
            row = session.exec(select(LabelAnnotationRow).where(*same)).first()
            row = row or LabelAnnotationRow.model_validate(annotation.model_dump(mode="json"))
            row.labels = annotation.labels.model_dump(mode="json")
            row.place, row.note = annotation.place, annotation.note
            row.at = datetime.now(UTC)
            session.add(row)

    def label_annotations(self, run_id: str, annotator: str | None = None) -> list[LabelAnnotation]:
        """Return the failure labels that people gave to a run's trials, the first ones first."""
        query = (
            select(LabelAnnotationRow)
            .join(TrialRow, sa.and_(col(TrialRow.id) == col(LabelAnnotationRow.trial_id)))
            .where(TrialRow.run_id == run_id)
            .order_by(col(LabelAnnotationRow.id))
        )
        if annotator is not None:
            query = query.where(LabelAnnotationRow.annotator == annotator)
        with self._reading() as session:
            rows = list(session.exec(query))
        return [
            LabelAnnotation(
                trial_id=row.trial_id,
                annotator=row.annotator,
                labels=GivenLabels.model_validate(row.labels),
                place=row.place,
                note=row.note,
            )
            for row in rows
        ]

    def save_label_card(self, card: LabelCard) -> None:
        """Store the card of a labeller, in place of the one before."""
        row = LabelCardRow(
            labeller=card.labeller, made_at=card.made_at, card=card.model_dump_json()
        )
        with self._writing() as session:
            session.merge(row)

    def label_cards(self) -> list[LabelCard]:
        """Return the cards of all labellers, by labeller."""
        with self._reading() as session:
            rows = list(session.exec(select(LabelCardRow).order_by(LabelCardRow.labeller)))
        return [LabelCard.model_validate_json(row.card) for row in rows]
