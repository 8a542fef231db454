"""Root scores of outputs whose trees require all of some node's children."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from taskdata.errors import Misuse
from taskdata.schema.agreement import PathNode

Member = tuple[Sequence[PathNode], float]
"""A leaf's path from the root down, and its score."""

_ROUNDING = 1e-9


def root_score(members: Sequence[Member]) -> float:
    """Return the root's score (0-10) over these leaves; NaN where one of them has none.

    As a trial's score is made of them (`stages.score.tree`): the mean of a node's children, each
    with its share of the weight times the part of it that these leaves cover, or 10 where each of
    those that are required passes and 0 where one does not (TOBench, equation 10).

    Raises:
        Misuse: if the paths make no tree.
    """
    if len(members) > 1 and _contradict([[node.id for node in path] for path, _ in members]):
        ends = sorted({path[-1].id for path, _ in members if path})
        raise Misuse(
            f"the paths to the leaves of one output make no tree (leaves {', '.join(ends)[:200]}); "
            "see docs/agreement.md"
        )
    if any(math.isnan(score) for _, score in members):
        return math.nan
    return _scored(members, 0)[0]


def _contradict(paths: Sequence[Sequence[str]]) -> bool:
    """Return whether the paths begin with different roots, or one leads through another's leaf."""
    ordered = sorted(list(path) for path in paths)
    return any(not path or path[0] != ordered[0][0] for path in ordered) or any(
        later[: len(path)] == path for path, later in pairwise(ordered)
    )


def _scored(members: Sequence[Member], level: int) -> tuple[float, float]:
    """Return score and coverage of the node at that level of all these paths."""
    path, score = members[0]
    if level == len(path) - 1:
        return score, 1.0
    below: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        below[member[0][level + 1].id].append(member)
    children = [
        (group[0][0][level + 1].share, *_scored(group, level + 1)) for group in below.values()
    ]
    node = path[level]
    if node.rule == "all_required":
        required = [score for share, score, _ in children if share]
        return 10.0 * all(score >= node.passes_from - _ROUNDING for score in required), 1.0
    covered = sum(share * coverage for share, _, coverage in children)
    if not covered:
        return 0.0, 0.0
    return sum(share * coverage * score for share, score, coverage in children) / covered, covered
