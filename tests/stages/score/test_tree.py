import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.score.tree import aggregate
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint, Judge, Rule
from taskdata.schema.scores import LeafScore, NodeScore, Unscored

PUBLISHED = Path(__file__).parents[4] / "shared/data/gta_workflow_tree_sample.json"
RUBRIC = Judge(rubric="as required")

MEAN: Rule = "weighted_mean"
BOTH_RULES: tuple[Rule, ...] = (MEAN, "all_required")
Weights = st.one_of(st.just(0.0), st.floats(min_value=1e-3, max_value=1e3))


@st.composite
def trees(
    draw, depth: int = 3, path: str = "n", weight: float = 1.0, rules: tuple[Rule, ...] = (MEAN,)
):
    """A checkpoint tree whose sibling weights do not all vanish, and scores for its leaves."""
    children = draw(st.integers(0, 4)) if depth else 0
    if not children:
        score = draw(st.sampled_from(Unscored) | st.floats(min_value=0, max_value=10))
        leaf = Checkpoint(id=path, requirement="r", weight=weight, verifier=RUBRIC)
        return leaf, {path: scored(path, score)}
    weights = [draw(st.floats(min_value=1e-3, max_value=1e3))]
    weights += [draw(Weights) for _ in range(children - 1)]
    nodes, scores = [], {}
    for index, child_weight in enumerate(weights):
        node, below = draw(trees(depth - 1, f"{path}-{index}", child_weight, rules))
        nodes.append(node)
        scores |= below
    inner = Checkpoint(
        id=path,
        requirement="r",
        weight=weight,
        children=tuple(nodes),
        rule=draw(st.sampled_from(rules)),
        passes_from=draw(st.sampled_from([10.0, 6.0])),
    )
    return inner, scores


def scored(leaf_id: str, score: float | Unscored) -> LeafScore:
    if isinstance(score, Unscored):
        return LeafScore(leaf_id=leaf_id, score=None, verifier="x@1", reason="", unscored=score)
    return LeafScore(leaf_id=leaf_id, score=score, verifier="x@1", reason="")


def changed(node: Checkpoint, change) -> Checkpoint:
    children = tuple(changed(child, change) for child in node.children)
    return node.model_copy(update={"children": change(children)})


@given(trees())
def test_the_root_lies_between_its_scored_leaves_and_coverage_between_0_and_1(case):
    tree, scores = case
    root = aggregate(tree, scores)
    known = [leaf.score for leaf in scores.values() if leaf.score is not None]
    assert 0 <= root.coverage <= 1
    assert (root.score is None) == (root.coverage == 0)
    if root.score is not None:
        assert min(known) <= root.score <= max(known)


@given(trees(), st.floats(min_value=1e-3, max_value=1e3))
def test_scaling_the_weights_of_siblings_changes_nothing(case, factor):
    tree, scores = case

    def scale(children):
        return tuple(c.model_copy(update={"weight": c.weight * factor}) for c in children)

    assert_same(aggregate(changed(tree, scale), scores), aggregate(tree, scores))


@given(trees())
def test_the_order_of_siblings_does_not_matter(case):
    tree, scores = case
    assert_same(
        aggregate(changed(tree, lambda children: children[::-1]), scores), aggregate(tree, scores)
    )


@given(trees())
def test_the_bounds_hold_the_score_and_what_any_missing_verdict_could_make_of_it(case):
    tree, scores = case
    root = aggregate(tree, scores)
    assert (root.lower is None) == (root.upper is None) == (root.coverage + root.unanswered == 0)
    if root.lower is None:
        return
    assert 0 <= root.lower <= root.upper <= 10
    if root.score is not None:
        assert root.lower <= root.score <= root.upper
    for bound, given_score in ((root.lower, 0.0), (root.upper, 10.0)):
        assert bound == pytest.approx(answered(tree, scores, given_score).score, abs=1e-6)


def answered(tree: Checkpoint, scores: dict[str, LeafScore], score: float) -> NodeScore:
    """The same tree, where every verdict that is missing was given."""
    full = {
        i: scored(i, score) if s.unscored is not None and s.unscored.was_asked else s
        for i, s in scores.items()
    }
    return aggregate(tree, full)


@given(trees(rules=BOTH_RULES))
def test_where_no_verdict_is_missing_the_bounds_are_the_score(case):
    tree, scores = case
    root = answered(tree, scores, 5.0)
    assert root.unanswered == 0
    assert root.lower == root.score == root.upper


@given(
    trees(rules=BOTH_RULES),
    st.data(),
    st.sampled_from([Unscored.NO_VERDICT, Unscored.CHECK_FAILED]),
)
def test_keeping_a_verdict_from_being_given_never_raises_the_lower_bound(case, data, cause):
    tree, scores = case
    before = aggregate(tree, scores)
    given_scores = sorted(i for i, s in scores.items() if s.score is not None)
    if not given_scores:
        return
    kept_back = data.draw(st.sets(st.sampled_from(given_scores), min_size=1))
    after = aggregate(tree, scores | {i: scored(i, cause) for i in kept_back})
    if before.lower is None:
        return
    assert after.lower <= before.lower + 1e-9
    assert after.upper >= before.upper - 1e-9
    assert after.coverage <= before.coverage + 1e-9


@given(trees())
def test_leaves_that_nobody_was_to_verify_are_in_neither_bound(case):
    tree, scores = case
    removed = {i: s for i, s in scores.items() if s.unscored is not Unscored.NOT_CONFIGURED}
    unseen = {i: s if i in removed else scored(i, Unscored.NOT_OBSERVED) for i, s in scores.items()}
    one, other = aggregate(tree, scores), aggregate(tree, unseen)
    assert (one.lower, one.upper, one.unanswered) == (other.lower, other.upper, other.unanswered)


def assert_same(one: NodeScore, other: NodeScore) -> None:
    assert one.coverage == pytest.approx(other.coverage, abs=1e-9)
    assert (one.score is None) == (other.score is None)
    if one.score is not None:
        assert one.score == pytest.approx(other.score, abs=1e-6)


def plain_mean(node: Checkpoint, scores: dict[str, LeafScore]) -> float:
    if not node.children:
        return scores[node.id].score
    total = sum(child.weight for child in node.children)
    return sum(c.weight * plain_mean(c, scores) for c in node.children) / total


@given(trees())
def test_a_fully_scored_tree_is_the_plain_weighted_mean(case):
    tree, scores = case
    full = {i: scored(i, 5.0 if s.score is None else s.score) for i, s in scores.items()}
    root = aggregate(tree, full)
    assert root.coverage == pytest.approx(1)
    assert root.score == pytest.approx(plain_mean(tree, full), abs=1e-6)


def leaf(leaf_id: str, weight: float = 1.0) -> Checkpoint:
    return Checkpoint(id=leaf_id, requirement="r", weight=weight, verifier=RUBRIC)


def inner(node_id: str, *children: Checkpoint, weight: float = 1.0) -> Checkpoint:
    return Checkpoint(id=node_id, requirement="r", weight=weight, children=children)


def test_an_unscored_leaf_leaves_the_mean_and_lowers_coverage():
    tree = inner("root", inner("a", leaf("a1"), leaf("a2"), weight=2), leaf("b"))
    scores = {
        "a1": scored("a1", 10),
        "a2": scored("a2", Unscored.NOT_CONFIGURED),
        "b": scored("b", 4),
    }
    root = aggregate(tree, scores)
    assert root.children[0].coverage == 0.5
    # a counts with weight 2 x coverage 0.5, just as much as b.
    assert root.score == pytest.approx(7)
    assert root.coverage == pytest.approx(2 / 3)


def test_a_judge_that_was_kept_from_its_verdicts_leaves_little_to_be_credited():
    tree = inner("root", leaf("a"), leaf("b", 10))
    refused = {"a": scored("a", 10), "b": scored("b", Unscored.NO_VERDICT)}
    root = aggregate(tree, refused)
    assert (root.score, root.coverage) == (10, pytest.approx(1 / 11))
    assert (root.lower, root.upper) == (pytest.approx(10 / 11), 10)
    honest = aggregate(tree, refused | {"b": scored("b", 0)})
    assert honest.lower == root.lower


def test_with_nothing_scored_there_is_no_score():
    root = aggregate(inner("root", leaf("a")), {"a": scored("a", Unscored.NOT_CONFIGURED)})
    assert (root.score, root.coverage) == (None, 0)


def test_weights_that_add_up_to_0_are_an_error_in_the_task():
    tree = inner("root", leaf("a"), inner("b", leaf("b1", 0), leaf("b2", 0)))
    scores = {i: scored(i, 9) for i in ("a", "b1", "b2")}
    with pytest.raises(BadTaskData, match="'b'"):
        aggregate(tree, scores)


def test_weights_that_add_up_to_0_score_0_in_a_published_tree_and_leave_nothing_open():
    tree = inner("root", leaf("a"), inner("b", leaf("b1", 0), leaf("b2", 0)))
    scores = {"a": scored("a", 9), "b1": scored("b1", 9)}
    scores["b2"] = scored("b2", Unscored.NO_VERDICT)
    root = aggregate(tree, scores, weightless_is_0=True)
    assert (root.score, root.coverage, root.lower, root.upper) == (4.5, 1, 4.5, 4.5)


def test_a_leaf_that_nobody_verified_is_an_error_not_a_zero():
    with pytest.raises(BadTaskData, match="'b'"):
        aggregate(inner("root", leaf("a"), leaf("b")), {"a": scored("a", 9)})


@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_extreme_weights_neither_overflow_nor_vanish(weight):
    tree = inner("root", leaf("a", weight), leaf("b", weight), leaf("c", weight))
    root = aggregate(tree, {"a": scored("a", 3), "b": scored("b", 6), "c": scored("c", 9)})
    assert (root.score, root.coverage) == (pytest.approx(6), pytest.approx(1))


def published_tree(raw: object) -> Checkpoint:
    roots = raw if isinstance(raw, list) else [raw]
    if isinstance(raw, dict) and "sub_tasks" in raw:
        return published_node(raw, "r")
    return inner("r", *(published_node(node, f"r-{i}") for i, node in enumerate(roots)))


def published_node(raw: dict, path: str) -> Checkpoint:
    children = raw.get("sub_tasks") or []
    weight = raw.get("weight", 1)
    if not children:
        return leaf(path, weight)
    nodes = (published_node(child, f"{path}-{i}") for i, child in enumerate(children))
    return inner(path, *nodes, weight=weight)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published sample is not at hand")
def test_root_scores_are_those_of_the_published_scorer():
    compared = 0
    for case in json.loads(PUBLISHED.read_text())["trees"]:
        tree = published_tree(case["tree"])
        scores = {
            node.id: scored(node.id, score)
            for node, score in zip(tree.leaves(), case["leaf_scores"], strict=True)
        }
        root = aggregate(tree, scores, weightless_is_0=True)
        assert root.score == pytest.approx(case["root_score"], abs=1e-9)
        compared += 1
    assert compared > 5


def required(*children: Checkpoint, mark: float = 10.0) -> Checkpoint:
    return Checkpoint(
        id="all", requirement="r", children=children, rule="all_required", passes_from=mark
    )


NO_JUDGE, SILENT = Unscored.NOT_CONFIGURED, Unscored.NO_VERDICT


@pytest.mark.parametrize(
    ("scores", "score", "coverage", "bounds"),
    [
        ((10, 10), 10, 1, (10, 10)),
        ((10, 9.9), 0, 1, (0, 0)),
        ((0, NO_JUDGE), 0, 1, (0, 0)),
        ((0, SILENT), 0, 1, (0, 0)),
        ((10, NO_JUDGE), None, 0, (None, None)),
        ((10, SILENT), None, 0, (0, 10)),
        ((SILENT, NO_JUDGE), None, 0, (0, 10)),
    ],
)
def test_a_group_passes_only_if_every_required_child_does(scores, score, coverage, bounds):
    given_scores = dict(zip("ab", scores, strict=True))
    leaves = {i: scored(i, s) for i, s in given_scores.items()} | {"c": scored("c", 0)}
    # A child without weight is not required.
    root = aggregate(required(leaf("a"), leaf("b", 0.5), leaf("c", 0)), leaves)
    assert (root.score, root.coverage, (root.lower, root.upper)) == (score, coverage, bounds)


def test_a_task_says_from_which_score_on_a_child_passes():
    scores = {"a": scored("a", 8), "b": scored("b", 7.4)}
    assert aggregate(required(leaf("a"), leaf("b"), mark=7), scores).score == 10
    assert aggregate(required(leaf("a"), leaf("b"), mark=7.5), scores).score == 0


def test_a_group_counts_in_a_weighted_tree_like_a_leaf():
    group = required(leaf("a"), leaf("b")).model_copy(update={"weight": 3.0})
    tree = Checkpoint(id="root", requirement="r", children=(group, leaf("c")))
    scores = {"a": scored("a", 10), "b": scored("b", 10), "c": scored("c", 2)}
    assert aggregate(tree, scores).score == 8
    open_ = aggregate(tree, scores | {"b": scored("b", SILENT)})
    assert (open_.score, open_.coverage) == (2, 0.25)
    assert (open_.lower, open_.upper) == (0.5, 8)


def test_a_rule_is_for_nodes_with_children_and_changes_no_hash_where_it_is_not_set():
    with pytest.raises(ValueError, match="a rule is for nodes with children"):
        Checkpoint(id="a", requirement="r", verifier=RUBRIC, rule="all_required")
    assert "rule" not in leaf("a").model_dump()
    assert required(leaf("a")).model_dump()["rule"] == "all_required"
