"""The first screen, from a few hand-made numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboards.pages.answers import answers
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.effort import CallEffort
from taskdata.schema.estimate import Estimate
from taskdata.schema.gate import GateResult
from taskdata.schema.run import RunStatus
from taskdata.schema.summary import AgentComparison, Missing, RunHeader, RunSummary

GPT, SMALL = "react:openai/gpt-5.2", "react:local/small"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def summary(agents, comparisons=(), gates=(), **header) -> RunSummary:
    fields = {
        "id": "r1",
        "status": "completed",
        "bank": "starter",
        "release_hash": "a" * 64,
        "code_version": "1",
        "created_at": NOON,
        "finished_at": NOON + timedelta(minutes=5),
        "threshold": 7,
        "judge": None,
        "sandbox": "bubblewrap",
        "repetitions": 1,
        "refinement_rounds": 1,
        "tasks": 2,
    }
    run = RunHeader.model_validate(fields | header)
    return RunSummary(run=run, agents=agents, refinement=(), comparisons=comparisons, gates=gates)


def compared(first, second, mean, ci95, p_value) -> AgentComparison:
    difference = Estimate(mean=mean, ci95=ci95, n=12)
    return AgentComparison(
        first=first, second=second, tasks=12, difference=difference, p_value=p_value
    )


@pytest.fixture
def scored(agent_numbers):
    def agent(name: str, mean: float):
        estimate = Estimate(mean=mean, ci95=(max(0, mean - 1), min(10, mean + 1)), n=12)
        return agent_numbers(name, scored=12, root_score=estimate, root_sr=mean / 10)

    return agent


def test_the_best_is_sought_among_the_agents_that_compete(scored):
    agents = (scored("reference", 10), scored(SMALL, 2), scored(GPT, 8), scored("nop", 0))
    better = answers(summary(agents), [])[0]
    assert better.headline == GPT
    assert better.details[0].startswith("8.00 (7.00 to 9.00)")
    assert any(SMALL in line for line in better.details)


@pytest.mark.parametrize(
    ("could_be", "headline", "says"),
    [
        ((-1.0, 3.0), "Not shown by this run", "−1.00 to +3.00 with the verdicts"),
        ((0.5, 3.0), "Yes", "+0.50 to +3.00 with the verdicts"),
    ],
)
def test_a_lead_that_missing_verdicts_could_turn_is_not_shown(scored, could_be, headline, says):
    pair = compared(SMALL, GPT, 2.0, (1.0, 3.0), 0.001)
    pair = pair.model_copy(update={"difference_range": could_be})
    real = answers(summary((scored(GPT, 8), scored(SMALL, 6)), [pair]), [])[1]
    assert real.headline == headline
    assert any(says in line for line in real.details)


@pytest.mark.parametrize(("upper", "is_trouble"), [(10.0, False), (9.9, True)])
def test_a_verdict_that_is_missing_does_not_put_the_reference_at_fault(scored, upper, is_trouble):
    missing = Missing(leaves=1, root_score_upper=upper)
    reference = scored("reference", 9.0).model_copy(update={"missing": missing})
    worked = answers(summary((reference,)), [])[3]
    assert any("control reference" in line for line in worked.details) is is_trouble


def test_a_lone_agent_is_said_to_be_alone_and_stands_beside_the_controls(scored):
    better = answers(summary((scored("reference", 10), scored(SMALL, 2))), [])[0]
    assert better.question == "How good is the agent?"
    assert better.headline == SMALL
    assert "the only agent that competes" in better.details
    assert any("reference, a control: 10.00" in line for line in better.details)


@pytest.mark.parametrize(
    ("comparison", "headline"),
    [
        (compared(SMALL, GPT, 6.0, (5.0, 7.0), 0.001), "Yes"),
        (compared(GPT, SMALL, -6.0, (-7.0, -5.0), 0.001), "Yes"),
        (compared(SMALL, GPT, 1.0, (-0.5, 2.5), 0.2), "Not shown by this run"),
        (compared(SMALL, GPT, 1.0, (0.1, 1.9), 0.07), "Not shown by this run"),
        (compared(SMALL, GPT, 1.0, None, None), "Not known"),
        (compared(SMALL, GPT, 0.0, (0.0, 0.0), 1.0), "There is none"),
    ],
)
def test_a_difference_is_real_when_interval_and_test_agree(scored, comparison, headline):
    agents = (scored(SMALL, 2), scored(GPT, 8))
    assert answers(summary(agents, (comparison,)), [])[1].headline == headline


def test_a_lone_agent_is_compared_with_doing_nothing(scored):
    agents = (scored("reference", 10), scored("nop", 0), scored(GPT, 8))
    pairs = (
        compared("reference", GPT, -2.0, (-3.0, -1.0), 0.001),
        compared("nop", GPT, 8.0, (7.0, 9.0), 0.001),
    )
    real = answers(summary(agents, pairs), [])[1]
    assert real.headline == "Yes"
    assert real.details[0] == f"{GPT} against nop"


def test_the_count_by_task_uses_tasks_that_both_have(scored, store, new_task, new_run, result_of):
    tasks = [new_task(name) for name in ("one", "two", "three", "four")]
    run = new_run(*tasks, agents=("nop", GPT))
    pairs = [(8, 2), (5, 5), (1, 4), (9, None)]
    results = [
        result_of(run, task, agent, score)
        for task, scores in zip(tasks, pairs, strict=True)
        for agent, score in zip((GPT, "nop"), scores, strict=True)
    ]
    agents = (scored("nop", 1), scored(GPT, 2))
    facts = answers(summary(agents, (compared("nop", GPT, 1.0, (-1, 3), 0.5),)), results)[1].details
    assert "ahead on 1 of 3 tasks, behind on 1, level on 1" in facts


def test_cost_is_unknown_where_no_price_is_known(store, new_run, new_task, plan, finish, scored):
    task = new_task()
    run = new_run(task, agents=("nop", GPT))
    finish(plan(run, task, GPT), cost_usd=None)
    cost = answers(summary((scored(GPT, 2),)), store.results(run.id))[2]
    assert cost.headline == "Unknown"
    finish(plan(run, task, "nop"), cost_usd=0.5)
    cost = answers(summary((scored(GPT, 2),)), store.results(run.id))[2]
    assert cost.headline == "$0.50 and more"
    assert "price unknown for 1 trial" in cost.details


def test_what_the_judge_was_paid_stands_beside_it(scored):
    judged = summary((scored(GPT, 2),), judge="openai/gpt-5.2").model_copy(
        update={"judging": CallEffort(calls=12, tokens=9000, cost_usd=0.25)}
    )
    assert "the judge beside it: $0.25 for 12 calls" in answers(judged, [])[2].details
    assert not any("judge" in line for line in answers(summary(()), [])[2].details)


def test_a_clean_night_says_so(store, new_run, new_task, plan, finish, grade):
    task = new_task()
    run = new_run(task)
    trial = plan(run, task)
    finish(trial)
    grade(trial, 0.0)
    gate = GateResult(gate="tasks", run_id=run.id, success=True, rows=1, expectations=1)
    worked = answers(summary((), gates=(gate,)), store.results(run.id))[3]
    assert (worked.headline, worked.tone) == ("Yes", "good")
    assert worked.details == ("every one of 1 trial finished and scored, 1 gate held",)


def test_agents_that_fail_are_no_fault_of_the_evaluation(scored):
    agents = (scored("reference", 10), scored(SMALL, 2.5), scored(GPT, 7.5), scored("nop", 0))
    assert answers(summary(agents), [])[3].question == "Did the evaluation itself work?"
    assert answers(summary(agents, error="disk full"), [])[3].details == (
        "run: disk full",
        "the agents' own failures do not count here: 12 of 24 first attempts did not get above 7",
    )


def test_everything_that_went_wrong_is_named(scored, store, new_run, new_task, plan, lose):
    tasks = [new_task("one"), new_task("two"), new_task("three")]
    run = new_run(*tasks)
    lose(plan(run, tasks[0]), "disk full")
    lose(plan(run, tasks[2]), f"the stage was stopped by {NIGHT_DEADLINE}")
    plan(run, tasks[1])
    gate = GateResult(gate="leaf_scores", run_id="r1", success=False, rows=1, expectations=1)
    agents = (scored("reference", 9.5), scored("nop", 1.5))
    wrong = answers(
        summary(agents, gates=(gate,), error="gate leaf_scores", status="failed"),
        store.results(run.id),
    )[3]
    assert (wrong.headline, wrong.tone) == ("No, see below", "bad")
    assert wrong.details == (
        "run: gate leaf_scores",
        f"1 trial left out by {NIGHT_DEADLINE}",
        "1 trial lost to infrastructure errors",
        "1 trial not finished and scored",
        "gate leaf_scores does not hold",
        "control reference has 9.50, must be 10",
        "control nop has 1.50, must be at most 1",
    )


def test_trials_still_to_come_are_no_fault_of_a_running_night(store, new_run, new_task, plan):
    run = new_run(new_task())
    plan(run, new_task())
    wrong = answers(summary((), status=RunStatus.RUNNING.value), store.results(run.id))[3]
    assert (wrong.headline, wrong.tone) == ("So far, yes", "plain")


def test_a_rescoring_has_paid_its_judges_and_no_agent(scored):
    numbers = summary((scored(GPT, 8),), rescores="r0", judge="openai/gpt-5.2")
    numbers = numbers.model_copy(update={"judging": CallEffort(calls=3, cost_usd=0.5)})
    cost = answers(numbers, [])[2]
    assert cost.headline == "$0.50"
    assert cost.details == ("3 calls of judges", "the agents were paid in run r0")
