from collections.abc import Callable
from itertools import cycle

import pytest

from quality.gates import hold
from quality.suites.bank import BankFacts, BankRules, bank_rows, bank_suite
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.gate import GateResult
from taskdata.schema.task import Category, Provenance, Task

MakeTask = Callable[..., Task]
RULES = BankRules(min_tasks_for_shares=12, min_category_share=0.1, max_source_share=0.5)


def facts(**known: object) -> BankFacts:
    values: dict[str, object] = {
        "artifacts": {"a" * 64},
        "seeds": {"5eed"},
        "reference_scores": {},
        "nop_scores": {},
    }
    return BankFacts(**(values | known))  # type: ignore[arg-type]


def gate(*tasks: Task, known: BankFacts | None = None, rules: BankRules = RULES) -> GateResult:
    return hold(bank_suite(rules), bank_rows(tasks, known or facts()), "r1")[0]


@pytest.fixture
def mixed(make_task: MakeTask) -> list[Task]:
    """Twelve tasks: two in each category, half from each of two sources."""
    return [
        make_task(f"task-{i}", category=category, provenance=Provenance(source=source))
        for i, (category, source) in enumerate(
            zip([*Category, *Category], cycle(["manus", "reddit"]), strict=False)
        )
    ]


def test_a_whole_and_mixed_bank_passes(mixed: list[Task]):
    result = gate(*mixed)

    assert result.success, result.failures
    assert result.rows == 12


def test_a_bank_may_be_given_by_hash(mixed: list[Task]):
    assert bank_rows({t.content_hash: t for t in mixed}, facts()) == bank_rows(mixed, facts())


def test_what_was_observed_stands_in_the_validation_result(mixed: list[Task]):
    proven = facts(reference_scores={t.content_hash: 10.0 for t in mixed[:9]})

    validation = hold(bank_suite(RULES), bank_rows(mixed, proven), "r1")[1]

    observed = {
        r["expectation_config"]["kwargs"].get("column"): r["result"].get("observed_value")
        for r in validation["results"]
    }
    assert "category data_analysis: 0.1667" in observed["category_share"]
    assert observed["source_share"] == "source manus: 0.5, source reddit: 0.5"
    assert observed["mean_checkable_share"] == "12 tasks: 0.75"
    assert observed["unproven_share"] == "3 of 12 tasks: 0.25"


def test_the_same_task_twice_stops_the_release(make_task: MakeTask):
    result = gate(make_task(), make_task())

    assert {f.column for f in result.failures} == {"task_id", "task_hash"}


def test_a_task_whose_file_is_gone_stops_the_release(make_task: MakeTask):
    result = gate(make_task(), known=facts(artifacts=set()))

    (failure,) = result.failures
    assert failure.expectation == "the artifact store holds every file of a task (found: sales.csv)"


def test_a_task_of_an_unknown_seed_stops_the_release(make_task: MakeTask):
    known = make_task("known", provenance=Provenance(seed_id="5eed"))
    unknown = make_task("unknown", provenance=Provenance(seed_id="gone"))

    result = gate(known, unknown)

    (failure,) = result.failures
    assert failure.rows == ("unknown",)
    assert failure.expectation == "the seed that a task was made from is known (found: gone)"


@pytest.mark.parametrize(
    ("scores", "holds"),
    [
        ({"reference_scores": 10.0 - 1e-9}, True),
        ({"reference_scores": 9.5}, False),
        ({"reference_scores": None}, True),
        ({"nop_scores": 1.0}, True),
        ({"nop_scores": 1.5}, False),
    ],
)
def test_a_task_that_was_tried_and_found_broken_stops_the_release(
    make_task: MakeTask, scores: dict[str, float | None], holds: bool
):
    task = make_task()
    tried = facts(**{name: {task.content_hash: score} for name, score in scores.items()})

    assert gate(task, known=tried).success is holds


def test_references_that_nothing_confirms_are_allowed_unless_the_rules_limit_them(
    mixed: list[Task],
):
    alone = facts(self_consistent={task.content_hash for task in mixed[:3]})
    strict = BankRules(min_tasks_for_shares=12, max_self_consistent_share=0.2)
    assert gate(*mixed, known=alone).success
    (failure,) = gate(*mixed, known=alone, rules=strict).failures
    assert failure.column == "self_consistent_share"
    assert "at most 20% of the tasks" in failure.expectation
    assert failure.rows == ("3 of 12 tasks",)


def test_unproven_tasks_are_allowed_unless_the_rules_limit_them(mixed: list[Task]):
    proven = facts(reference_scores={t.content_hash: 10.0 for t in mixed[:9]})
    strict = BankRules(min_tasks_for_shares=12, max_unproven_share=0.2)

    assert gate(*mixed, known=proven).success
    (failure,) = gate(*mixed, known=proven, rules=strict).failures
    assert failure.rows == ("3 of 12 tasks",)


def test_a_category_below_the_floor_stops_the_release(mixed: list[Task]):
    without = [t for t in mixed if t.category is not Category.CREATIVE_DESIGN]
    reddit = [t for t in without if t.provenance.source == "reddit"]
    extra = [t.model_copy(update={"id": f"{t.id}-again"}) for t in reddit[:2]]

    result = gate(*without, *extra)

    (failure,) = result.failures
    assert failure.rows == ("category creative_design",)
    assert failure.expectation.startswith("every category has 10% of 12 tasks or more (found: 0")


def test_a_source_above_the_ceiling_stops_the_release(mixed: list[Task], make_task: MakeTask):
    result = gate(*mixed, make_task("one-more", provenance=Provenance(source="manus")))

    (failure,) = result.failures
    assert failure.rows == ("source manus",)
    assert failure.expectation.startswith("no source gives more than 50%")


def test_few_tasks_are_not_judged_by_their_shares(make_task: MakeTask):
    assert gate(make_task()).success


def test_a_bank_that_mostly_a_judge_must_score_stops_the_release(make_task: MakeTask):
    judged = Checkpoint(id="root", requirement="All is well.", verifier=Judge(rubric="Is it?"))
    task = make_task(tier="atomic", checkpoints=judged, deliverables=())

    (failure,) = gate(task).failures
    assert failure.expectation.startswith("code can verify 50% of the weight of a task on average")
