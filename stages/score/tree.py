"""Aggregation: leaf scores become the scores of all nodes of a checkpoint tree."""

from collections.abc import Mapping

from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.scores import LeafScore, NodeScore, shares

_ROUNDING = 1e-9
"""Rounding error of sums of weights and scores."""


def aggregate(
    checkpoint: Checkpoint,
    leaf_scores: Mapping[str, LeafScore],
    *,
    weightless_is_0: bool = False,
) -> NodeScore:
    """Return the node with score (0-10) and coverage (0-1), its children below it.

    A parent's score is the mean of its children's scores, each weighing its weight times its
    coverage (GTA-2, section 3.3.5 and Algorithm 1, where every leaf is scored); coverage is the
    weighted mean of the children's. With nothing scored below it a node's score is None, never 0.
    A node that requires all of its children is 10 if each that has a weight passes, 0 if one does
    not (TOBench, equation 10), and None while a missing score may decide that.
    How far the leaves that got no verdict leave the score open, `lower` and `upper` of a node say.

    Args:
        checkpoint: The tree.
        leaf_scores: By leaf id.
        weightless_is_0: A node whose children's weights add up to 0 scores 0, as GTA-Workflow's
            published scorer has it, and nothing of it is left open.

    Raises:
        BadTaskData: The weights of some node's children add up to 0, or a leaf has no entry in
            `leaf_scores`.
    """
    if checkpoint.verifier is not None:
        return _leaf(checkpoint, leaf_scores)
    children = tuple(
        aggregate(child, leaf_scores, weightless_is_0=weightless_is_0)
        for child in checkpoint.children
    )
    parts = shares(child.weight for child in children)
    if not any(parts) and weightless_is_0:
        return _inner(checkpoint, children, 0.0, 1.0)
    if not any(parts):
        raise BadTaskData(
            f"checkpoint {checkpoint.id!r}: the weights of its children add up to 0; "
            "give one of them a weight"
        )
    if checkpoint.rule == "all_required":
        score = _product(checkpoint, children)
        coverage = 0.0 if score is None else 1.0
        return _inner(checkpoint, children, score, coverage)
    seen = [
        (part * child.coverage, child.score) for part, child in zip(parts, children, strict=True)
    ]
    coverage = sum(share for share, _ in seen)
    return _inner(checkpoint, children, _mean(seen, coverage), min(1.0, coverage))


def _inner(
    checkpoint: Checkpoint, children: tuple[NodeScore, ...], score: float | None, coverage: float
) -> NodeScore:
    return NodeScore(
        id=checkpoint.id,
        requirement=checkpoint.requirement,
        weight=checkpoint.weight,
        score=score,
        coverage=coverage,
        children=children,
        rule=checkpoint.rule,
    )


def _product(checkpoint: Checkpoint, children: tuple[NodeScore, ...]) -> float | None:
    """Return 10 if all required children pass, 0 if one fails, None if that is not known."""
    passes = [_passes(child, checkpoint.passes_from) for child in children if child.weight]
    if False in passes:
        return 0.0
    return None if None in passes else 10.0


def _passes(child: NodeScore, mark: float) -> bool | None:
    if child.score is None or child.coverage < 1 - _ROUNDING:
        return None
    return child.score >= mark - _ROUNDING


def _leaf(checkpoint: Checkpoint, leaf_scores: Mapping[str, LeafScore]) -> NodeScore:
    leaf = leaf_scores.get(checkpoint.id)
    if leaf is None:
        raise BadTaskData(f"leaf {checkpoint.id!r} was not given to any verifier")
    return NodeScore(
        id=checkpoint.id,
        requirement=checkpoint.requirement,
        weight=checkpoint.weight,
        score=leaf.score,
        coverage=0.0 if leaf.score is None else 1.0,
        leaf=leaf,
    )


def _mean(seen: list[tuple[float, float | None]], coverage: float) -> float | None:
    if coverage == 0:
        return None
    scored = [(share, score) for share, score in seen if score is not None]
    mean = sum(share * score for share, score in scored) / coverage
    # Rounding errors must not put a mean outside the range of its values.
    scores = [score for share, score in scored if share > 0]
    return min(max(mean, min(scores)), max(scores))
