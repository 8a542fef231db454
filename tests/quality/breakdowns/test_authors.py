"""Labels of rules and labels of a model are told apart."""

from quality.breakdowns.authors import by_model
from taskdata.schema.diagnosis import (
    Diagnosis,
    Evidence,
    FailureLevels,
    FailureStage,
    FailureType,
    Label,
    ModelLabelling,
    Taxonomy,
)
from taskdata.schema.failures import FailureShare


def label(taxonomy: Taxonomy, name: str, by: str | None = None) -> Label:
    seen = (Evidence(says="so"),)
    return Label(taxonomy=taxonomy, name=name, confidence=0.5, evidence=seen, by=by)


def failed(asked: ModelLabelling | None, stage: FailureStage, by: str | None = None) -> Diagnosis:
    misread = label(Taxonomy.TOOL_USE, "fine_grained_perception", by)
    return Diagnosis(
        trial_id="t",
        stage=stage,
        type=FailureType.FORMATTING,
        levels=FailureLevels(leaf=True, composition=False, deliverable=False),
        evidence=(),
        labels=(label(Taxonomy.LONG_RUN, "loop"), misread),
        labeller="rules@3",
        by_model=asked,
    )


ACCEPTED = failed(ModelLabelling(model="m", decided=("stage",)), FailureStage.REASON, "openai/m")
REJECTED = failed(ModelLabelling(model="m", rejected="no"), FailureStage.UNDETERMINED)
NOT_ASKED = failed(ModelLabelling(model="m", error="no money"), FailureStage.UNDETERMINED)


def test_labels_are_counted_by_who_gave_them():
    found = by_model([ACCEPTED, REJECTED, NOT_ASKED])
    assert found["of_model"] == {
        "stage": {"reason": 1},
        "tool_use": {"fine_grained_perception": 1},
        "tool_use_category": {"multimodal_capability": 1},
    }
    # Of the first trial: stage, type, two labels; of the others: type, two labels.
    assert found["given_by"] == {
        "rules": FailureShare(n=8, of=10),
        "model": FailureShare(n=2, of=10),
    }
    assert (found["asked"], found["rejected"]) == (2, 1)


def test_where_no_model_was_asked_nothing_is_said_of_one():
    assert by_model([NOT_ASKED, failed(None, FailureStage.PLAN)]) == {}
