"""The SQL tables.

A row that is a measurement names what made it. Uniqueness and ranges are constraints of the tables,
so running something twice cannot count twice.
"""

from taskdata.tables.agreement import (
    AnnotationRow,
    JudgeCardRow,
    LabelAnnotationRow,
    LabelCardRow,
    PlanAnnotationRow,
    PlanCardRow,
)
from taskdata.tables.columns import UtcDateTime
from taskdata.tables.construction import (
    BankGateRow,
    CandidateRow,
    ConstructionStepRow,
    QuarantineDecisionRow,
    QuarantineRow,
    RefreshRow,
    RefreshStageRow,
    ReleaseNotesRow,
    ReviewRow,
    SeedLinkRow,
    SeedRow,
    WithdrawalRow,
)
from taskdata.tables.evaluation import (
    DeliverableRow,
    DiagnosisRow,
    GateResultRow,
    LeafScoreRow,
    ModelCallRow,
    OutcomeRow,
    PagePicturesRow,
    ReleaseRow,
    ReleaseTaskRow,
    RenderedRow,
    RunRow,
    ScoreRow,
    ScoringErrorRow,
    StageReportRow,
    TaskRow,
    TrialRow,
)
from taskdata.tables.history import NightRow

REVISION = "0024"
"""The Alembic revision of these tables."""

__all__ = [
    "REVISION",
    "AnnotationRow",
    "BankGateRow",
    "CandidateRow",
    "ConstructionStepRow",
    "DeliverableRow",
    "DiagnosisRow",
    "GateResultRow",
    "JudgeCardRow",
    "LabelAnnotationRow",
    "LabelCardRow",
    "LeafScoreRow",
    "ModelCallRow",
    "NightRow",
    "OutcomeRow",
    "PagePicturesRow",
    "PlanAnnotationRow",
    "PlanCardRow",
    "QuarantineDecisionRow",
    "QuarantineRow",
    "RefreshRow",
    "RefreshStageRow",
    "ReleaseNotesRow",
    "ReleaseRow",
    "ReleaseTaskRow",
    "RenderedRow",
    "ReviewRow",
    "RunRow",
    "ScoreRow",
    "ScoringErrorRow",
    "SeedLinkRow",
    "SeedRow",
    "StageReportRow",
    "TaskRow",
    "TrialRow",
    "UtcDateTime",
    "WithdrawalRow",
]
