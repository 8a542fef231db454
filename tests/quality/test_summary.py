from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from quality.summary import summarise
from taskdata.schema.agent import AgentSpec
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage, FailureType
from taskdata.schema.effort import CallEffort
from taskdata.schema.run import Run, RunConfig, RunStatus, TrialResult
from taskdata.schema.scores import Unscored
from taskdata.schema.summary import AgentSummary, Missing, RunSummary
from taskdata.schema.task import Task
from taskdata.schema.transcript import Usage

REACT = "react:openai/gpt-5.2"
MakeTask = Callable[..., Task]
MakeResult = Callable[..., TrialResult]


def leaves(
    totals: float | None, tone: float | Unscored | None = None
) -> dict[str, float | Unscored | None]:
    """Scores of a task's four leaves: two on the workbook, the answer, the judged memo."""
    return {"totals": totals, "sheets": totals, "answer": totals, "tone": tone}


def run(*agents: str, **config: object) -> Run:
    specs = tuple(AgentSpec.parse(agent) for agent in agents or (REACT,))
    return Run(
        id="r1",
        status=RunStatus.COMPLETED,
        config=RunConfig.model_validate({"agents": specs, **config}),
        release_hash="b" * 64,
        code_version="test",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def summary_of(
    *results: TrialResult, tasks: list[Task], agents: tuple[str, ...] = (), **config: object
) -> RunSummary:
    return summarise(run(*agents, **config), results, {t.content_hash: t for t in tasks})


@pytest.fixture
def tasks(make_task: MakeTask) -> list[Task]:
    return [
        make_task("logic-task", capabilities=("logic",)),
        make_task("creative-task", capabilities=("creativity",), category="creative_design"),
        make_task("atomic-task", tier="atomic", capabilities=("logic",)),
    ]


def agent(*results: TrialResult, tasks: list[Task]) -> AgentSummary:
    return summary_of(*results, tasks=tasks).agents[0]


def test_scores_are_means_over_scored_trials_and_success_is_above_the_threshold(
    tasks: list[Task], make_result: MakeResult
):
    found = agent(
        make_result(task=tasks[0], leaves=leaves(7.0)),
        make_result(task=tasks[1], leaves=leaves(9.0)),
        make_result(task=tasks[2], leaves=leaves(2.0)),
        tasks=tasks,
    )

    assert found.root_score.mean == pytest.approx(6.0)
    assert found.root_score.n == 3
    assert 0 <= found.root_score.ci95[0] < 6 < found.root_score.ci95[1] <= 10
    assert found.root_sr == pytest.approx(1 / 3)
    assert found.root_sr_at == {
        "5": pytest.approx(2 / 3),
        "6": pytest.approx(2 / 3),
        "7": pytest.approx(1 / 3),
        "8": pytest.approx(1 / 3),
        "9": 0,
    }
    assert found.leaf_sr == pytest.approx(1 / 3)
    assert found.coverage == pytest.approx(3 / 4)


def test_infrastructure_errors_are_counted_beside_the_scores(
    tasks: list[Task], make_result: MakeResult
):
    scored = make_result(task=tasks[0], leaves=leaves(8.0))
    lost = make_result(task=tasks[1], error="model server is down\nafter 5 retries")
    unreadable = make_result(task=tasks[2], scored=False)
    unreadable = unreadable.model_copy(update={"scoring_error": "renderer crashed"})
    planned = TrialResult(trial=make_result(task=tasks[0], repetition=1).trial)

    found = agent(scored, lost, unreadable, planned, tasks=tasks)

    assert (found.trials, found.scored, found.errors, found.pending) == (4, 1, 2, 1)
    assert found.root_score.mean == 8.0
    assert found.root_sr == 1.0
    assert found.error_causes == {"model server is down": 1, "renderer crashed": 1}


def test_a_trial_without_any_scored_leaf_is_neither_zero_nor_pending(
    tasks: list[Task], make_result: MakeResult
):
    found = agent(
        make_result(task=tasks[0], leaves=leaves(8.0)),
        make_result(task=tasks[1], leaves=leaves(None)),
        tasks=tasks,
    )

    assert (found.scored, found.errors, found.pending) == (1, 0, 0)
    assert found.root_score.mean == 8.0
    assert found.coverage == pytest.approx(3 / 8)


def test_what_a_judge_did_not_answer_counts_0_and_the_most_it_can_be_stands_beside(
    tasks: list[Task], make_result: MakeResult
):
    refused = Unscored.NO_VERDICT
    found = agent(
        make_result(task=tasks[0], leaves=leaves(10.0, tone=refused)),
        make_result(task=tasks[1], leaves=leaves(8.0, tone=refused)),
        make_result(task=tasks[2], leaves=leaves(2.0)),
        tasks=tasks,
    )

    assert found.root_score.mean == pytest.approx((7.5 + 6.0 + 2.0) / 3)
    assert found.root_sr == pytest.approx(1 / 3)
    assert found.pass_at_k["1"].mean == pytest.approx(1 / 3)
    assert found.leaf_sr == pytest.approx(6 / 11)
    assert found.deliverable_type["docx"].mean == 0.0
    assert (found.missing.leaves, found.missing.trials) == (2, 1)
    assert found.missing.root_score_upper == pytest.approx((10 + 8.5 + 2.0) / 3)
    assert found.missing.root_sr_upper == pytest.approx(2 / 3)


def test_a_trial_with_too_few_verifiers_is_in_no_success_rate(
    tasks: list[Task], make_result: MakeResult
):
    mostly_rubric = {"totals": 10.0, "sheets": None, "answer": None, "tone": None}
    found = agent(
        make_result(task=tasks[0], leaves=leaves(9.0)),
        make_result(task=tasks[1], leaves=mostly_rubric),
        make_result(task=tasks[2], leaves=leaves(2.0)),
        tasks=tasks,
    )

    assert (found.scored, found.undecided) == (3, 1)
    assert found.root_sr == pytest.approx(1 / 2)
    assert found.pass_at_k["1"].n == 2
    assert found.capability_sr["creativity"] is None
    assert found.root_score.mean == pytest.approx(7.0)
    assert found.missing == Missing()


def test_a_difference_says_how_far_missing_verdicts_leave_it_open(
    tasks: list[Task], make_result: MakeResult
):
    def compared(tone: float | Unscored):
        return summary_of(
            make_result(agent="a:m/one", task=tasks[0], leaves=leaves(8.0, tone=4.0)),
            make_result(agent="a:m/two", task=tasks[0], leaves=leaves(8.0, tone=tone)),
            tasks=tasks,
            agents=("a:m/one", "a:m/two"),
        ).comparisons[0]

    refused, answered = compared(Unscored.NO_VERDICT), compared(4.0)
    assert refused.difference.mean == pytest.approx(-1.0)
    assert refused.difference_range == pytest.approx((-1.0, 1.5))
    assert (answered.difference.mean, answered.difference_range) == (0.0, None)


def test_a_verdict_that_was_missing_before_is_no_gain(tasks: list[Task], make_result: MakeResult):
    before = make_result(task=tasks[0], leaves=leaves(4.0, tone=Unscored.NO_VERDICT))
    after = make_result(task=tasks[0], leaves=leaves(4.0, tone=8.0), round_=1)

    (gain,) = summary_of(before, after, tasks=tasks).refinement

    assert (gain.mean_before, gain.mean_after, gain.gain.mean) == (5.5, 5.0, -0.5)


def test_breakdowns_follow_task_tier_category_capability_and_deliverable(
    tasks: list[Task], make_result: MakeResult
):
    found = agent(
        make_result(task=tasks[0], leaves=leaves(8.0, tone=4.0)),
        make_result(task=tasks[1], leaves=leaves(3.0, tone=6.0)),
        make_result(task=tasks[2], leaves=leaves(10.0)),
        tasks=tasks,
    )

    assert found.capability_sr == {
        "perception": None,
        "operation": None,
        "logic": 0.5,
        "creativity": 0.0,
    }
    assert found.category["creative_design"].mean == pytest.approx(3.75)
    assert found.category["data_analysis"].mean == pytest.approx((7 + 10) / 2)
    assert found.tier["atomic"].mean == 10.0
    assert found.tier["workflow"].mean == pytest.approx((7 + 3.75) / 2)
    assert found.deliverable_type["xlsx"].mean == pytest.approx(7.0)
    assert found.deliverable_type["xlsx"].n == 6
    assert found.deliverable_type["docx"].mean == pytest.approx(5.0)
    assert found.deliverable_type["answer"].mean == pytest.approx(7.0)


def test_effort_is_summed_over_trials_and_cost_is_unknown_if_one_price_is(
    tasks: list[Task], make_result: MakeResult
):
    effort = {"tool_calls": 8, "tool_errors": 1, "wall_seconds": 30.0, "turns": 4}
    tokens = Usage(input_tokens=90, output_tokens=10)
    first = make_result(task=tasks[0], leaves=leaves(8.0), cost_usd=0.5, usage=tokens, **effort)
    second = make_result(
        task=tasks[1], leaves=leaves(4.0), cost_usd=1.5, usage=tokens, **(effort | {"turns": 6})
    )
    unpriced = make_result(task=tasks[2], leaves=leaves(4.0), cost_usd=None)

    found = agent(first, second, tasks=tasks)

    assert found.cost_usd == 2.0
    assert found.score_per_usd == pytest.approx(12 / 2)
    assert found.wall_s == 60.0
    assert found.turns == 5.0
    assert found.tokens == 200
    assert found.tool_sr == pytest.approx(1 - 2 / 16)
    assert agent(first, unpriced, tasks=tasks).cost_usd is None
    assert agent(first, unpriced, tasks=tasks).score_per_usd is None


def test_effort_is_unknown_if_that_of_one_trial_is(tasks: list[Task], make_result: MakeResult):
    known = make_result(task=tasks[0], leaves=leaves(8.0), wall_seconds=30.0, turns=4)
    unknown = {"wall_seconds": None, "turns": None, "tool_calls": None, "tool_errors": None}
    imported = make_result(task=tasks[1], leaves=leaves(4.0), usage=None, **unknown)

    found = agent(known, imported, tasks=tasks)

    assert (found.wall_s, found.turns, found.tool_sr, found.tokens) == (None,) * 4
    assert found.root_score.mean == pytest.approx(6.0)


def test_an_agent_that_called_no_tool_has_no_tool_success_rate_and_a_free_one_no_score_per_dollar(
    tasks: list[Task], make_result: MakeResult
):
    found = agent(make_result(task=tasks[0], leaves=leaves(0.0), cost_usd=0.0), tasks=tasks)

    assert found.tool_sr is None
    assert found.cost_usd == 0.0
    assert found.score_per_usd is None
    assert found.root_score.ci95 is None


def test_failure_labels_are_counted_per_trial(tasks: list[Task], make_result: MakeResult):
    def labelled(task: Task, stage: FailureStage | None, leaf: bool) -> TrialResult:
        result = make_result(task=task, leaves=leaves(1.0))
        diagnosis = Diagnosis(
            trial_id=result.trial.id,
            stage=stage,
            type=FailureType.FORMATTING if stage else None,
            levels=FailureLevels(leaf=leaf, composition=False, deliverable=True),
            evidence=(),
            labeller="rules@1",
        )
        return result.model_copy(update={"diagnosis": diagnosis})

    found = agent(
        labelled(tasks[0], FailureStage.PLAN, leaf=True),
        labelled(tasks[1], FailureStage.PLAN, leaf=False),
        labelled(tasks[2], None, leaf=False),
        tasks=tasks,
    )

    assert found.failures["stage"] == {
        "not_attempted": 0,
        "plan": 2,
        "execute": 0,
        "reason": 0,
        "refine": 0,
        "handoff": 0,
        "undetermined": 0,
    }
    assert found.failures["type"]["formatting"] == 2
    assert found.failures["level"] == {"leaf": 1, "composition": 0, "deliverable": 3}


def test_refinement_pairs_each_new_attempt_with_the_one_before(
    tasks: list[Task], make_result: MakeResult
):
    before = [
        make_result(task=t, leaves=leaves(s)) for t, s in zip(tasks, (2.0, 4.0, 9.0), strict=True)
    ]
    after = [
        make_result(task=tasks[0], leaves=leaves(5.0), round_=1),
        make_result(task=tasks[1], leaves=leaves(5.0), round_=1),
        make_result(task=tasks[2], round_=1, error="down"),
    ]

    summary = summary_of(*before, *after, tasks=tasks)

    (gain,) = summary.refinement
    assert (gain.agent, gain.arm, gain.round) == (REACT, "checkpoint", 1)
    assert (gain.trials, gain.errors) == (3, 1)
    assert (gain.mean_before, gain.mean_after) == (3.0, 5.0)
    assert gain.gain.mean == 2.0
    assert gain.gain.n == 2
    assert gain.gain.ci95[0] < 2 < gain.gain.ci95[1]
    assert summary.agents[0].trials == 3
    assert summary.agents[0].root_score.mean == pytest.approx(5.0)


def test_the_gains_of_arms_are_not_mixed(tasks: list[Task], make_result: MakeResult):
    first = make_result(task=tasks[0], leaves=leaves(2.0))
    scores = {("none", 1): 2.0, ("none", 2): 3.0, ("checkpoint", 1): 6.0, ("checkpoint", 2): 9.0}
    refined = [
        make_result(task=tasks[0], leaves=leaves(score), round_=round_, arm=arm)
        for (arm, round_), score in scores.items()
    ]

    summary = summary_of(first, *refined, tasks=tasks, feedback=("none", "checkpoint"))

    found = [(g.arm, g.round, g.mean_before, g.mean_after) for g in summary.refinement]
    assert found == [
        ("none", 1, 2.0, 2.0),
        ("none", 2, 2.0, 3.0),
        ("checkpoint", 1, 2.0, 6.0),
        ("checkpoint", 2, 2.0, 9.0),
    ]
    assert summary.agents[0].root_score.mean == 2.0


def test_agents_stand_in_the_order_of_the_run_even_before_any_trial(
    tasks: list[Task], make_result: MakeResult
):
    summary = summary_of(
        make_result(agent="nop", task=tasks[0], leaves=leaves(0.0)),
        tasks=tasks,
        agents=("reference", "nop"),
    )

    assert [a.agent for a in summary.agents] == ["reference", "nop"]
    assert summary.agents[0].root_score.mean is None
    assert summary.agents[0].cost_usd is None
    assert summary.run.tasks == 3
    assert summary.run.threshold == 7.0


def test_repetitions_give_pass_at_k_and_pass_hat_k(tasks: list[Task], make_result: MakeResult):
    found = agent(
        make_result(task=tasks[0], repetition=0, leaves=leaves(9.0)),
        make_result(task=tasks[0], repetition=1, leaves=leaves(2.0)),
        tasks=tasks,
    )

    assert found.pass_at_k["1"].mean == pytest.approx(0.5)
    assert found.pass_at_k["2"].mean == pytest.approx(1.0)
    assert found.pass_hat_k["2"].mean == pytest.approx(0.0)


def test_what_the_simulated_user_was_paid_is_no_cost_of_the_agent(
    tasks: list[Task], make_result: MakeResult
):
    effort = CallEffort(calls=3, tokens=900, cost_usd=0.125)
    talked = make_result(task=tasks[0], cost_usd=0.5).model_copy(update={"talking": effort})
    found = summary_of(talked, make_result(task=tasks[1], cost_usd=0.5), tasks=tasks)
    assert (found.agents[0].cost_usd, found.agents[0].user_cost_usd) == (1.0, 0.125)
    assert found.talking == effort


def test_what_the_labeller_was_paid_is_no_cost_of_the_agent(
    tasks: list[Task], make_result: MakeResult
):
    effort = CallEffort(calls=2, tokens=900, cost_usd=0.125)
    labelled = make_result(task=tasks[0], cost_usd=0.5).model_copy(update={"labelling": effort})
    found = summary_of(labelled, make_result(task=tasks[1], cost_usd=0.5), tasks=tasks)
    assert (found.agents[0].cost_usd, found.agents[0].labeller_cost_usd) == (1.0, 0.125)
    assert found.labelling == effort


def test_what_the_judge_was_paid_stands_beside_what_the_agents_cost(
    tasks: list[Task], make_result: MakeResult
):
    def judged(result: TrialResult, cost_usd: float | None) -> TrialResult:
        effort = CallEffort(calls=4, tokens=4000, cost_usd=cost_usd)
        return result.model_copy(update={"judging": effort})

    first = judged(make_result(task=tasks[0], cost_usd=0.5), 0.25)
    again = judged(make_result(task=tasks[0], round_=1, cost_usd=0.5), 0.75)
    unasked = make_result(task=tasks[1], cost_usd=0.5)
    found = summary_of(first, again, unasked, tasks=tasks)
    assert (found.agents[0].cost_usd, found.agents[0].judge_cost_usd) == (1.0, 0.25)
    assert found.judging == CallEffort(calls=8, tokens=8000, cost_usd=1.0)

    unpriced = summary_of(judged(first, None), again, tasks=tasks)
    assert unpriced.judging == CallEffort(calls=8, tokens=8000, cost_usd=None)
