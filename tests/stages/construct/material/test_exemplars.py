"""Which exemplars a candidate gets, and how the library of checks is described."""

from stages.construct.material.base import base_tasks
from stages.construct.material.checks import described_checks
from stages.construct.material.exemplars import choose, shortened
from stages.score.library import check_library
from taskdata.schema.construct import Candidate, Construction, Origin
from taskdata.schema.task import Tier


def candidate(number: int, tier: Tier = Tier.WORKFLOW) -> Candidate:
    return Candidate(
        id=f"c{number}",
        refresh_id="r",
        task_id=f"t{number}",
        tier=tier,
        origin=Origin.SEED,
        stage=Construction.GENERATE,
    )


def test_the_choice_is_always_the_same_and_of_different_categories(store):
    tasks = base_tasks(store, "starter")
    chosen = choose(candidate(1), tasks, 3)
    assert choose(candidate(1), tuple(reversed(tasks)), 3) == chosen
    assert len({task.category for task in chosen}) == 3
    assert {task.tier for task in chosen} == {Tier.WORKFLOW}


def test_different_candidates_get_different_ones(store):
    tasks = base_tasks(store, "starter")
    assert len({tuple(t.id for t in choose(candidate(n), tasks, 2)) for n in range(20)}) > 5


def test_an_exemplar_of_the_wrong_tier_is_none(store, new_task):
    assert choose(candidate(1, Tier.ATOMIC), [new_task()], 2) == ()


def test_no_base_no_exemplars(store):
    assert base_tasks(store, None) == ()


def test_long_parts_are_cut(store, new_task):
    shown = shortened(new_task(query="word " * 1_000))
    assert len(shown["query"]) == 1_503
    assert all(len(str(shortened(task))) < 20_000 for task in base_tasks(store, "starter"))


def test_every_check_is_described_with_its_arguments():
    described = {check.name: check for check in described_checks()}
    assert set(described) == set(check_library())
    cells = described["xlsx_cells"]
    assert cells.looks_at == ("xlsx",)
    assert cells.args[0] == "sheet: text"
    assert cells.purpose == "Values of single cells by address."
