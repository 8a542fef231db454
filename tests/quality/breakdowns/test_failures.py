from collections.abc import Callable

import pytest

from quality.breakdowns.failures import agent_failures, level_rates
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
from taskdata.schema.failures import FailureShare, RequirementLevel
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task

A, B, C = RequirementLevel
MakeResult = Callable[..., TrialResult]


@pytest.mark.parametrize(("failed", "percent"), [(84, 77.78), (87, 80.56), (46, 42.59)])
def test_rates_of_108_requirements_are_those_of_the_papers_table_10(failed: int, percent: float):
    deliverable = [(C, n < failed) for n in range(108)]
    rates = level_rates([*deliverable, (A, True), (A, False), (A, False)])
    assert (rates[C].n, rates[C].of, rates[C].percent) == (failed, 108, percent)
    assert rates[A].percent == 33.33
    assert (rates[B].of, rates[B].percent) == (0, None)


def test_more_than_all_is_no_share():
    with pytest.raises(ValueError, match="3 cannot be some of 2"):
        FailureShare(n=3, of=2)


def labelled(result: TrialResult, *names: tuple[Taxonomy, str], failed: bool = True) -> TrialResult:
    labels = tuple(
        Label(taxonomy=taxonomy, name=name, confidence=1, evidence=(Evidence(says="so"),))
        for taxonomy, name in names
    )
    diagnosis = Diagnosis(
        trial_id=result.trial.id,
        stage=FailureStage.UNDETERMINED if failed else None,
        type=FailureType.FORMATTING if failed else None,
        levels=FailureLevels(leaf=failed, composition=False, deliverable=False),
        evidence=(),
        labels=labels,
        labeller="rules@3",
    )
    return result.model_copy(update={"diagnosis": diagnosis})


def test_labels_are_shares_of_failed_trials_and_lost_trials_have_none(
    make_task: Callable[..., Task], make_result: MakeResult
):
    task = make_task()
    leaves = [leaf.id for leaf in task.checkpoints.leaves()]
    wrong = dict.fromkeys(leaves, 0.0)
    loop, no_look = (Taxonomy.LONG_RUN, "loop"), (Taxonomy.TOOL_USE, "no_verification")
    lost = labelled(make_result(task=task, repetition=3, error="down"), loop)
    results = [
        labelled(make_result(task=task, leaves=wrong), loop, no_look),
        labelled(make_result(task=task, leaves=wrong, repetition=1), no_look),
        labelled(make_result(task=task, repetition=2), failed=False),
        lost,
    ]
    found = agent_failures("a", results, {lost.trial.id: "provider"}, lambda *_: B, 7.0)

    assert (found.trials, found.scored, found.failed, found.lost) == (4, 3, 2, 1)
    assert found.labels["tool_use"] == {"no_verification": FailureShare(n=2, of=2)}
    categories = {name: share.n for name, share in found.labels["tool_use_category"].items()}
    assert categories == {
        "tool_call": 0,
        "parameter": 0,
        "multimodal_capability": 0,
        "self_verification": 2,
        "non_agent": 0,
    }
    assert found.labels["long_run"]["loop"].percent == 50.0
    assert found.labels["stage"]["undetermined"].n == found.labels["type"]["formatting"].n == 2
    assert found.labels["level"]["leaf"] == FailureShare(n=2, of=3)
    assert found.labels["infrastructure"] == {"provider": FailureShare(n=1, of=4)}
    assert found.requirements[B] == FailureShare(n=2 * len(leaves), of=3 * len(leaves))


def test_labels_of_rules_and_of_a_model_are_told_apart(
    make_task: Callable[..., Task], make_result: MakeResult
):
    task = make_task()
    loop, misread = (Taxonomy.LONG_RUN, "loop"), (Taxonomy.TOOL_USE, "fine_grained_perception")
    asked = ModelLabelling(model="m", decided=("stage",))
    first, second, third = (
        labelled(make_result(task=task, repetition=n), loop, misread) for n in range(3)
    )
    by_rules, by_model = first.diagnosis.labels
    labels = (by_rules, by_model.model_copy(update={"by": "openai/m"}))
    changes = {"labels": labels, "by_model": asked, "stage": FailureStage.REASON}
    results = [
        first.model_copy(update={"diagnosis": first.diagnosis.model_copy(update=changes)}),
        _with_asked(second, ModelLabelling(model="m", rejected="no such place")),
        _with_asked(third, ModelLabelling(model="m", error="no money")),
    ]
    found = agent_failures("a", results, {}, lambda *_: B, 7.0)
    assert found.of_model == {
        "stage": {"reason": 1},
        "tool_use": {"fine_grained_perception": 1},
        "tool_use_category": {"multimodal_capability": 1},
    }
    # Of the first trial: stage, type, two labels; of the others: type, two labels.
    assert found.given_by == {
        "rules": FailureShare(n=8, of=10),
        "model": FailureShare(n=2, of=10),
    }
    assert (found.asked, found.rejected) == (2, 1)
    alone = agent_failures("a", [third], {}, lambda *_: B, 7.0)
    assert (alone.given_by, alone.asked) == ({}, 0)


def _with_asked(result: TrialResult, asked: ModelLabelling) -> TrialResult:
    diagnosis = result.diagnosis.model_copy(update={"by_model": asked})
    return result.model_copy(update={"diagnosis": diagnosis})
