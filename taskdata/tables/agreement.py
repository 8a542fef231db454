"""Tables of what people scored, labelled and marked, and of who agrees with them."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint
from sqlmodel import Field, SQLModel, UniqueConstraint

from taskdata.tables.columns import json_column, time_column


class AnnotationRow(SQLModel, table=True):
    """A person's score of one leaf of one trial; NULL: the person cannot tell."""

    __tablename__ = "annotation"
    __table_args__ = (
        UniqueConstraint("trial_id", "leaf_id", "annotator"),
        CheckConstraint("score BETWEEN 0 AND 10", name="annotation_in_range"),
    )
    id: int | None = Field(default=None, primary_key=True)
    trial_id: str = Field(foreign_key="trial.id", index=True)
    leaf_id: str
    annotator: str
    score: float | None = None
    at: datetime = time_column()


class JudgeCardRow(SQLModel, table=True):
    """The latest card of a judge, as JSON."""

    __tablename__ = "judge_card"
    judge: str = Field(primary_key=True)
    made_at: datetime = time_column()
    card: str


class LabelAnnotationRow(SQLModel, table=True):
    """A person's failure labels of one trial."""

    __tablename__ = "label_annotation"
    __table_args__ = (UniqueConstraint("trial_id", "annotator"),)
    id: int | None = Field(default=None, primary_key=True)
    trial_id: str = Field(foreign_key="trial.id", index=True)
    annotator: str
    labels: dict[str, Any] = json_column()
    place: str
    note: str
    at: datetime = time_column()


class LabelCardRow(SQLModel, table=True):
    """The latest card of a labeller of failures, as JSON."""

    __tablename__ = "label_card"
    labeller: str = Field(primary_key=True)
    made_at: datetime = time_column()
    card: str


class PlanAnnotationRow(SQLModel, table=True):
    """A person's marks of the plan of one trial."""

    __tablename__ = "plan_annotation"
    __table_args__ = (UniqueConstraint("trial_id", "annotator"),)
    id: int | None = Field(default=None, primary_key=True)
    trial_id: str = Field(foreign_key="trial.id", index=True)
    annotator: str
    marks: dict[str, Any] = json_column()
    note: str
    at: datetime = time_column()


class PlanCardRow(SQLModel, table=True):
    """The latest card of a judge of plans, as JSON."""

    __tablename__ = "plan_card"
    judge: str = Field(primary_key=True)
    made_at: datetime = time_column()
    card: str
