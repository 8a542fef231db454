from collections.abc import Callable

import pytest

from quality.breakdowns.failures import (
    counted,
    failures_by_group,
    group_failures,
    groups_of_agents,
    groups_of_tasks,
    level_rates,
)
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.diagnosis import (
    Diagnosis,
    Evidence,
    FailureLevels,
    FailureStage,
    FailureType,
    Label,
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
    found = group_failures("a", counted(results, {lost.trial.id: "provider"}, lambda *_: B, 7.0))

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


def _all_wrong(task: Task) -> dict[str, float]:
    return {leaf.id: 0.0 for leaf in task.checkpoints.leaves()}


@pytest.fixture
def by_group(make_task: Callable[..., Task], make_result: MakeResult):
    """Failures by group of two agents of one model and a control, on a small and a larger task."""
    leaf = Checkpoint(id="totals", requirement="right", verifier=Check(name="answer_number"))
    small = make_task("small", checkpoints=leaf, deliverables=())
    larger = make_task("larger", category="creative_design")
    agents = [AgentSpec.parse(name) for name in ("react:openai/m", "function_calling:openai/m")]
    agents.append(AgentSpec.parse("nop"))
    results = [
        labelled(make_result(agent.name, task=task, leaves=_all_wrong(task)))
        for agent in agents
        for task in (small, larger)
    ]
    return failures_by_group(
        counted(results, {}, lambda *_: C, 7.0),
        [agent.name for agent in agents],
        groups_of_agents(agents),
        groups_of_tasks((small, larger)),
    )


def test_failures_are_counted_by_agent_model_harness_and_groups_of_tasks(by_group):
    found = {by: {g.group: g.failed for g in groups} for by, groups in by_group.items()}
    assert found == {
        "agent": {"react:openai/m": 2, "function_calling:openai/m": 2, "nop": 2},
        "model": {"openai/m": 4},
        "harness": {"function_calling": 2, "react": 2},
        "category": {"creative_design": 2, "data_analysis": 2},
        "deliverable_type": {"answer": 2, "docx": 2, "xlsx": 2},
        "leaves": {"3-7": 2, "other": 2},
    }


def test_requirements_are_summed_over_the_trials_of_a_group(by_group):
    (model,) = by_group["model"]
    assert model.requirements[C] == FailureShare(n=10, of=10)
    assert model.requirements[A] == FailureShare(n=0, of=0)
