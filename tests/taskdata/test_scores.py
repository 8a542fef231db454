"""Scores say why a leaf has none; those stored before they did are read with the same meaning."""

import pytest
from pydantic import ValidationError

from taskdata.schema.scores import LeafScore, NodeScore, Unscored
from taskdata.schema.success import SuccessRule, TrialVerdict

RULE = SuccessRule(threshold=7, min_coverage=0.5)


def node(node_id: str, score: float | None, unscored: Unscored | None = None) -> NodeScore:
    return NodeScore(
        id=node_id,
        requirement="r",
        weight=1,
        score=score,
        coverage=float(score is not None),
        leaf=LeafScore(leaf_id=node_id, score=score, verifier="x@1", reason="", unscored=unscored),
    )


def tree(*leaves: float | Unscored) -> NodeScore:
    """A root over leaves of equal weight."""
    nodes = tuple(
        node(f"n{i}", None, s) if isinstance(s, Unscored) else node(f"n{i}", s)
        for i, s in enumerate(leaves)
    )
    known = [n.score for n in nodes if n.score is not None]
    return NodeScore(
        id="root",
        requirement="r",
        weight=1,
        score=sum(known) / len(known) if known else None,
        coverage=len(known) / len(nodes),
        children=nodes,
    )


@pytest.mark.parametrize(
    ("verifier", "cause"),
    [
        ("judge:none@1", Unscored.NOT_CONFIGURED),
        ("judge:openai/gpt-5.2@1", Unscored.NO_VERDICT),
        ("check:xlsx_table@2", Unscored.CHECK_FAILED),
        ("script", Unscored.NOT_CONFIGURED),
        ("tool_result:log@1", Unscored.NOT_OBSERVED),
        ("judge", Unscored.NOT_OBSERVED),
        ("check", Unscored.NOT_OBSERVED),
    ],
)
def test_of_a_leaf_stored_without_a_cause_the_verifiers_name_tells_it(verifier, cause):
    stored = {"leaf_id": "a", "score": None, "verifier": verifier, "reason": "as it was"}
    assert LeafScore.model_validate(stored).unscored is cause


def test_a_leaf_with_a_score_is_stored_as_it_always_was():
    stored = {"leaf_id": "a", "score": 4.0, "verifier": "check:x@1", "reason": "as it was"}
    assert LeafScore.model_validate(stored).model_dump(mode="json") == stored


def test_a_leaf_has_a_score_or_a_cause_and_never_both():
    with pytest.raises(ValidationError, match="either a score or why it has none"):
        node("a", 4.0, Unscored.NO_VERDICT)


def test_a_tree_reads_back_as_it_was_stored():
    root = tree(10.0, Unscored.NO_VERDICT, Unscored.NOT_CONFIGURED)
    read = NodeScore.model_validate_json(root.model_dump_json())
    assert read == root
    assert (read.lower, read.upper) == (5.0, 10.0)


ASKED, ABSENT = Unscored.NO_VERDICT, Unscored.NOT_CONFIGURED


@pytest.mark.parametrize(
    ("leaves", "verdict"),
    [
        ((10.0, 10.0), TrialVerdict.SUCCEEDED),
        ((7.0, 7.0), TrialVerdict.FAILED),
        # Half of the weight is enough, a little less is not.
        ((10.0, ABSENT), TrialVerdict.SUCCEEDED),
        ((10.0, ABSENT, ABSENT), TrialVerdict.UNDECIDED),
        ((0.0, ABSENT, ABSENT), TrialVerdict.UNDECIDED),
        ((ABSENT, ABSENT), TrialVerdict.UNDECIDED),
        # A refusal is never a way to success, nor out of the count.
        ((10.0, ASKED), TrialVerdict.OPEN),
        ((10.0, ASKED, ASKED), TrialVerdict.OPEN),
        ((ASKED, ASKED), TrialVerdict.OPEN),
        ((0.0, 0.0, ASKED), TrialVerdict.FAILED),
        ((10.0, 10.0, 10.0, ASKED), TrialVerdict.SUCCEEDED),
        # Above the threshold at its least, with less than half of the weight scored.
        ((10.0, 10.0, 10.0, 10.0, ASKED, *[ABSENT] * 4), TrialVerdict.OPEN),
    ],
)
def test_success_is_decided_on_the_lower_bound_and_a_minimum_coverage(leaves, verdict):
    assert RULE.verdict(tree(*leaves)) is verdict


def test_a_rule_without_minimum_decides_whatever_has_a_score():
    rule = SuccessRule(threshold=7, min_coverage=0)
    assert rule.verdict(tree(10.0, ABSENT, ABSENT)) is TrialVerdict.SUCCEEDED
    assert rule.verdict(tree(ABSENT)) is TrialVerdict.UNDECIDED


def test_a_whole_tree_is_covered_in_spite_of_rounding():
    root = tree(10.0, 10.0, 10.0)
    rounded = root.model_copy(update={"coverage": 1 - 1e-12})
    rule = SuccessRule(threshold=7, min_coverage=1)
    assert rule.verdict(rounded) is TrialVerdict.SUCCEEDED


@pytest.mark.parametrize(
    ("judged", "checked", "best"),
    [
        (8.0, 10.0, 10.0),
        (0.0, 10.0, 5.0),
        (Unscored.NO_VERDICT, 10.0, 10.0),
        (8.0, 6.0, 8.0),
        (Unscored.NOT_CONFIGURED, 6.0, 6.0),
        (Unscored.NOT_CONFIGURED, Unscored.NOT_CONFIGURED, None),
    ],
)
def test_what_judges_could_have_made_of_a_tree(judged, checked, best):
    root = tree(judged, checked)
    leaf = root.children[0].leaf.model_copy(update={"verifier": "judge:a@2"})
    first = root.children[0].model_copy(update={"leaf": leaf})
    changed = root.model_copy(update={"children": (first, root.children[1])})
    assert changed.best_judged == best
