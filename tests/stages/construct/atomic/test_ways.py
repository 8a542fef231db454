"""The proportions and the rules of GTA's diversified expansion (GTA, appendix C.2)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.construct.atomic.ways import Way, deal, disobeyed, is_exemplar, way_of, ways_of
from taskdata.banks.loader import load_bank
from taskdata.schema.task import Tier


@pytest.fixture(scope="module")
def exemplars():
    return [task for task in load_bank("starter").tasks if is_exemplar(task)]


@pytest.mark.parametrize(
    ("tools", "changes"),
    [
        (2, {Way.ADD_ONE, Way.ADD_TWO}),
        (3, {Way.DROP_ONE, Way.ADD_ONE}),
        (4, {Way.DROP_ONE, Way.DROP_TWO}),
    ],
)
def test_an_exemplar_is_varied_in_ten_ways(tools, changes):
    ways = Counter(ways_of(tools))
    assert ways == {Way.KEEP: 6, Way.REPLACE: 2, **dict.fromkeys(changes, 1)}


def test_ten_variations_each_are_exactly_six_two_two(exemplars):
    dealt = deal(exemplars, 10 * len(exemplars))
    for exemplar in exemplars:
        ways = Counter(v.way for v in dealt if v.exemplar == exemplar)
        assert (ways[Way.KEEP], ways[Way.REPLACE], sum(ways.values())) == (6, 2, 10)


@given(total=st.integers(min_value=10, max_value=200))
def test_any_number_of_variations_comes_near_that_proportion(exemplars, total):
    dealt = deal(exemplars, total)
    assert len(dealt) == total
    ways = Counter(v.way for v in dealt)
    assert ways[Way.KEEP] / total == pytest.approx(0.6, abs=0.15)
    assert ways[Way.REPLACE] / total == pytest.approx(0.2, abs=0.15)
    assert deal(exemplars, total) == dealt


def test_variations_of_an_exemplar_differ_in_aim(exemplars):
    dealt = [v for v in deal(exemplars, 10 * len(exemplars)) if v.exemplar == exemplars[0]]
    assert len({v.aim for v in dealt}) == 10
    assert [way_of(v.aim) for v in dealt] == [v.way for v in dealt]


def test_no_exemplar_is_varied_twice_before_all_are_once(exemplars):
    dealt = deal(exemplars, len(exemplars))
    assert {v.exemplar.id for v in dealt} == {e.id for e in exemplars}
    assert deal([], 5) == []


def test_pictures_and_workflows_are_no_exemplars(exemplars):
    assert exemplars
    for task in load_bank("starter").tasks:
        has_answer_in_words = task.answer is not None and task.answer.kind != "image_generation"
        assert (task in exemplars) == (task.tier is Tier.ATOMIC and has_answer_in_words)


@pytest.mark.parametrize(
    ("way", "tools", "obeys"),
    [
        (Way.KEEP, {"A", "B"}, True),
        (Way.KEEP, {"A", "C"}, False),
        (Way.REPLACE, {"A", "C"}, True),
        (Way.REPLACE, {"A", "B", "C"}, False),
        (Way.ADD_ONE, {"A", "B", "C"}, True),
        (Way.ADD_TWO, {"A", "B", "C"}, False),
        (Way.ADD_TWO, {"A", "B", "C", "D"}, True),
        (Way.DROP_ONE, {"B"}, True),
        (Way.DROP_ONE, {"C"}, False),
        (Way.DROP_TWO, {"A"}, False),
    ],
)
def test_a_way_is_obeyed_to_the_number(way, tools, obeys):
    assert (disobeyed(way, {"A", "B"}, tools) is None) == obeys
