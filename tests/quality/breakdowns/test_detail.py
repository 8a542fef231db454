"""Figures of one agent by groups of tasks, faults of tool calls and turns."""

import statistics

import pytest

from quality.breakdowns import groups
from quality.breakdowns.detail import agent_detail
from quality.breakdowns.turns import mean_turns, turn_groups
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import DeliverableSpec, TaskEnvironment
from taskdata.schema.tool_use import ToolUse

AGENT = AgentSpec.parse("react:openai/gpt-5.2")
RULE = SuccessRule(threshold=7, min_coverage=0.5)


@pytest.fixture
def detail_of():
    def make(*results, tasks, turns=None):
        by_hash = {task.content_hash: task for task in tasks}
        turns = mean_turns(results) if turns is None else turns
        return agent_detail(AGENT, results, by_hash, RULE, turns, 2.0)

    return make


def leaves(score):
    return dict.fromkeys(("totals", "sheets", "answer", "tone"), float(score))


def tree(count: int) -> Checkpoint:
    check = Check(name="x", deliverable=None)
    below = [Checkpoint(id=f"l{n}", requirement="x", verifier=check) for n in range(count)]
    return Checkpoint(id="root", requirement="x", children=tuple(below))


def test_accuracy_is_by_family_and_difficulty_in_the_order_of_the_paper(
    make_task, make_result, detail_of
):
    kinds = [
        ("intelligent_creation", "hard", "video"),
        ("customer_service", "medium", "hotel"),
        ("customer_service", "easy", None),
        ("customer_service", "easy", "hotel"),
        ("customer_service", None, None),
    ]
    tasks = [
        make_task(f"t{n}", package={"family": f, "difficulty": d, "subcategory": s})
        for n, (f, d, s) in enumerate(kinds)
    ] + [make_task("none"), make_task("role", package={"role": "Clerk"})]
    results = [
        make_result(task=task, leaves=leaves(9 if n in (1, 2) else 2))
        for n, task in enumerate(tasks)
    ]
    found = detail_of(*results, tasks=tasks)
    rates = {name: group.root_sr.mean for name, group in found.family_difficulty.items()}
    assert list(rates.items()) == [
        ("customer_service, easy", 0.5),
        ("customer_service, medium", 1.0),
        ("customer_service, any difficulty", 0.0),
        ("intelligent_creation, hard", 0.0),
    ]
    assert found.subcategory.keys() == {"customer_service, hotel", "intelligent_creation, video"}
    assert found.subcategory["customer_service, hotel"].root_sr.mean == 0.5


def test_every_share_has_an_interval_and_what_it_is_of(make_task, make_result, detail_of):
    tasks = [make_task(f"t{n}", capabilities=("logic",)) for n in range(3)]
    scores = (9, 8, 3)
    results = [
        make_result(task=task, leaves=leaves(score), tool_calls=4, tool_errors=1, wall_seconds=n)
        for n, (task, score) in enumerate(zip(tasks, scores, strict=True))
    ]
    found = detail_of(*results, tasks=tasks)
    assert (found.harness, found.model, found.score_per_usd) == ("react", "openai/gpt-5.2", 2.0)
    assert [found.root_sr_at[str(k)].mean for k in range(5, 10)] == pytest.approx(
        [2 / 3, 2 / 3, 2 / 3, 1 / 3, 0]
    )
    assert (found.leaf_sr.mean, found.leaf_sr.n) == (pytest.approx(2 / 3), 12)
    assert (found.tool_sr.mean, found.tool_sr.n) == (0.75, 12)
    assert found.capability_sr["logic"].mean == pytest.approx(2 / 3)
    assert found.capability_sr["creativity"].n == 0
    assert (found.seconds.mean, found.seconds.n) == (1, 3)
    for estimate in (found.root_sr_at["7"], found.leaf_sr, found.tool_sr, found.seconds):
        low, high = estimate.ci95
        assert low < estimate.mean < high


def test_a_price_that_is_unknown_leaves_no_mean(make_task, make_result, detail_of):
    task = make_task()
    known = make_result(task=task, cost_usd=0.5)
    unknown = make_result(task=task, cost_usd=None, repetition=1)
    assert detail_of(known, tasks=[task]).cost_usd.mean == 0.5
    assert detail_of(known, unknown, tasks=[task]).cost_usd.mean is None


def test_a_task_that_asks_for_two_types_is_in_both_of_their_groups(
    make_task, make_result, detail_of
):
    sheet_and_memo = make_task("t0")
    slides = make_task("t1", deliverables=(DeliverableSpec(name="a.pptx", type="pptx"),),
                       checkpoints=tree(4), category="creative_design")  # fmt: skip
    answer = make_task("t2", deliverables=(), checkpoints=tree(20))
    results = [
        make_result(task=sheet_and_memo, leaves=leaves(10)),
        make_result(task=slides, leaves=dict.fromkeys([f"l{n}" for n in range(4)], 4.0)),
        make_result(task=answer, leaves=dict.fromkeys([f"l{n}" for n in range(20)], 1.0)),
    ]
    found = detail_of(*results, tasks=[sheet_and_memo, slides, answer])
    means = {name: group.root_score.mean for name, group in found.deliverable_type.items()}
    assert means == {"answer": 1, "docx": 10, "pptx": 4, "xlsx": 10}
    assert set(found.deliverable_group) == {"answer", "slides", "structured_data", "text"}
    assert list(found.leaves) == ["3-7", "other"]
    assert found.leaves["3-7"].root_score.n == 2
    assert found.leaves["3-7"].leaf_sr.mean == 0.5
    assert found.category["creative_design"].root_sr.mean == 0


@pytest.mark.parametrize(
    ("count", "group"),
    [(2, "other"), (3, "3-7"), (7, "3-7"), (8, "8-12"), (12, "8-12"), (13, "13-19"), (19, "13-19"),
     (20, "other")],
)  # fmt: skip
def test_sizes_of_trees_are_those_of_the_paper(make_task, count, group):
    assert groups.by_leaves(make_task(deliverables=(), checkpoints=tree(count))) == {group}


def test_pass_at_1_is_a_mean_over_runs_with_their_deviation(make_task, make_result, detail_of):
    tasks = [make_task(f"t{n}") for n in range(2)]
    scores = {0: (9, 9), 1: (9, 1), 2: (1, 1)}
    results = [
        make_result(task=task, leaves=leaves(score), repetition=repetition)
        for repetition, both in scores.items()
        for task, score in zip(tasks, both, strict=True)
    ]
    spread = detail_of(*results, tasks=tasks).pass_at_1
    assert (spread.mean, spread.runs) == (0.5, 3)
    assert spread.sd == pytest.approx(statistics.stdev([1, 0.5, 0]))
    assert detail_of(*results[:2], tasks=tasks).pass_at_1.sd is None


def test_faults_split_success_into_trials_with_and_without(make_task, make_result, detail_of):
    tasks = [make_task(f"t{n}") for n in range(4)]
    uses = [
        (ToolUse(tool="OCRR", calls=2, errors={"unknown_tool": 2}, overlong=0),),
        (ToolUse(tool="OCR", calls=4, errors={"refused": 1}, overlong=1),),
        (),
        None,
    ]
    scores = (1, 9, 9, 9)
    results = [
        make_result(task=task, leaves=leaves(score), tool_uses=use)
        for task, score, use in zip(tasks, scores, uses, strict=True)
    ]
    faults = detail_of(*results, tasks=tasks).tool_faults
    wrong = faults["wrong_tool_name"]
    assert (wrong.calls.mean, wrong.calls.n) == (pytest.approx(2 / 6), 6)
    assert (wrong.trials.mean, wrong.trials.n) == (pytest.approx(1 / 3), 3)
    assert (wrong.root_sr_with.mean, wrong.root_sr_without.mean) == (0, 1)
    assert faults["call_error"].calls.mean == pytest.approx(1 / 6)
    assert faults["overlong_output"].root_sr_with.mean == 1
    assert faults["overlong_output"].root_sr_without.mean == 0.5


def test_results_whose_length_was_not_counted_are_in_no_figure_of_overlong_ones(
    make_task, make_result, detail_of
):
    task = make_task()
    result = make_result(task=task, tool_uses=(ToolUse(tool="OCR", calls=4),))
    faults = detail_of(result, tasks=[task]).tool_faults
    assert (faults["call_error"].calls.n, faults["overlong_output"].calls.n) == (4, 0)


def test_thirds_of_tasks_go_by_the_turns_of_all_agents(make_task, make_result):
    tasks = [make_task(f"t{n}") for n in range(4)]
    ours = [
        make_result(task=task, leaves=leaves(9 if n < 2 else 1), turns=2 * n + 1)
        for n, task in enumerate(tasks)
    ]
    theirs = make_result(agent="react:openai/other", task=tasks[0], turns=99)
    turns = mean_turns([*ours, theirs])
    assert turns == {"t0": 50, "t1": 3, "t2": 5, "t3": 7}
    found = turn_groups(ours, turns, RULE)
    shown = {
        name: (group.tasks, group.least_turns, group.most_turns, group.root_sr.mean)
        for name, group in found.items()
    }
    assert shown == {"easy": (2, 3, 5, 0.5), "medium": (1, 7, 7, 0), "hard": (1, 50, 50, 1)}
    assert turn_groups(ours, {"t0": 1.0, "t1": 2.0}, RULE) == {}


def test_trials_go_by_whether_the_agent_looked_at_its_work(make_task, make_result, detail_of):
    tasks = [make_task(f"t{n}") for n in range(4)]
    levels = ("looked", "existence", "looked", None)
    results = [
        make_result(task=task, leaves=leaves(score), self_verification=level)
        for task, score, level in zip(tasks, (9, 1, 1, 9), levels, strict=True)
    ]
    found = detail_of(*results, tasks=tasks).self_verification
    assert {name: group.trials.n for name, group in found.items()} == dict.fromkeys(found, 3)
    assert [found[name].trials.mean for name in ("none", "existence", "looked")] == [
        *(0, pytest.approx(1 / 3), pytest.approx(2 / 3))
    ]
    assert [found[name].root_sr.mean for name in ("existence", "looked")] == [0, 0.5]
    unknown = detail_of(results[-1], tasks=tasks[-1:])
    assert unknown.self_verification == {}


def test_a_task_counts_for_each_server_that_it_needs(make_task, make_result, detail_of):
    needed, costs = (("excel", "word"), ("excel",), ()), (0.5, None, 1)
    tasks = [
        make_task(f"t{n}", environment=TaskEnvironment(servers=servers))
        for n, servers in enumerate(needed)
    ]
    results = [
        make_result(task=task, leaves=leaves(score), turns=turns, cost_usd=cost, repetition=n)
        for task, score, turns, cost in zip(tasks, (9, 1, 9), (4, 8, 1), costs, strict=True)
        for n in range(2)
    ]
    found = detail_of(*results, tasks=tasks).server
    assert {name: (group.tasks, group.trials) for name, group in found.items()} == {
        "excel": (2, 4),
        "word": (1, 2),
    }
    assert (found["excel"].root_sr.mean, found["word"].root_sr.mean) == (0.5, 1)
    assert (found["excel"].turns.mean, found["excel"].cost_usd.mean) == (6, None)
    assert found["word"].cost_usd.mean == 0.5
