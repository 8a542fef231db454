"""When an answer counts as shown by the tools."""

import pytest

from stages.construct.atomic.answer import given_away, misstated, tree_of, unsupported
from stages.score.library import validate_check
from taskdata.schema.checkpoint import Check, Judge


@pytest.mark.parametrize(
    ("group", "result"),
    [
        (["53"], "53"),
        (["12,750", "12750"], "total 12750"),
        (["998.86"], "998.8599999999999"),
        (["142"], "142.30769230769232"),
        (["3.4"], "[1.0, 3.4000000000000004]"),
        (["Skarvholmen"], "B2417.3 | SKARVHOLMEN | 22 s"),
    ],
)
def test_a_result_shows_it_as_text_or_as_a_number_to_round(group, result):
    assert unsupported([group], ["something else", result]) is None


@pytest.mark.parametrize(
    ("group", "result"),
    [(["53"], "533"), (["53"], "52.4"), (["998.86"], "998.9"), (["Oslo"], "osloer"), (["7"], "")],
)
def test_what_no_result_shows_is_unsupported(group, result):
    assert unsupported([["found"], group], ["found", result]) == (
        f"no tool's result shows {group[0]}"
    )


def test_an_answer_is_held_to_its_own_lists():
    assert misstated([["53"]], ["55"], "It is 53 kg.") is None
    assert "does not name 53" in misstated([["53"]], ["55"], "It is 54 kg.")
    assert "55" in misstated([["53"]], ["55"], "It is 53 kg, not 55.")


def test_a_question_may_hold_a_part_of_the_answer_but_not_all():
    assert given_away([["leek"]], "Do we have more leek or kale?")
    assert not given_away([["leek"], ["38"]], "More leek or kale, and by how much?")


def test_the_tree_checks_each_statement_and_judges_the_meaning_of_a_subjective_answer():
    tree = tree_of([["53", "fifty-three"], ["fits"]], ["55"], [])
    first, second = (leaf.verifier for leaf in tree.leaves())
    assert first.args == {"all": [["53", "fifty-three"]], "none": ["55"]}
    assert second.args == {"all": [["fits"]]}
    for verifier in (first, second):
        validate_check(verifier)
    subjective = tree_of([["53"]], [], ["a 53", "b 53", "c 53"])
    assert [type(leaf.verifier) for leaf in subjective.leaves()] == [Check, Judge]
    assert subjective.checkable_share() == pytest.approx(5 / 8)
    assert "(2) b 53" in subjective.leaves()[1].verifier.rubric
