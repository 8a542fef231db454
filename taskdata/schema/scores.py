"""Scores of leaves, nodes and trials. None means not scored; zero is a fact about the agent."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from taskdata.schema.base import Value


class LeafScore(Value):
    """One verifier's score of one leaf."""

    leaf_id: str
    score: float | None = Field(ge=0, le=10)
    """None: unscored; `reason` says why."""
    verifier: str
    """Kind, name and version: `check:xlsx_cells@1`, `judge:openai/gpt-5.2@1`."""
    reason: str
    """For the reader of the dashboard: what was found and what was expected."""


class NodeScore(Value):
    """Score of a node of the tree beside the share of its weight that was scored."""

    id: str
    requirement: str
    weight: float
    score: float | None = Field(ge=0, le=10)
    coverage: float = Field(ge=0, le=1)
    leaf: LeafScore | None = None
    children: tuple[NodeScore, ...] = ()

    def nodes(self) -> Iterator[NodeScore]:
        """Yield this node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.nodes()


class TrialScore(Value):
    """What scoring concluded about one trial."""

    trial_id: str
    root: NodeScore
    scorer_version: str

    @property
    def leaves(self) -> tuple[LeafScore, ...]:
        """Leaf scores, depth first."""
        return tuple(n.leaf for n in self.root.nodes() if n.leaf is not None)
