"""What construction changed: outcomes by source, and the magnitude of rewriting (GTA-2, 3.3.4)."""

from pydantic import Field

from taskdata.schema.base import Value


class DraftCounts(Value):
    """How much a draft asks for."""

    constraints: int = Field(ge=0)
    """Clauses of the query that bind the result."""
    deliverable_requirements: int = Field(ge=0)
    """Files asked for, and the clauses that describe them."""
    tools: tuple[str, ...] = ()
    """Tools allowed."""


class SourceOutcomes(Value):
    """What became of the tasks of one source (GTA-2, table 2)."""

    source: str
    initial: int = Field(ge=0)
    """Candidates made from it."""
    augmentation: int = Field(ge=0)
    refinement: int = Field(ge=0)
    deletion: int = Field(ge=0)
    passed: int = Field(ge=0)
    unclassified: int = Field(ge=0)
    """Stopped before they were classified, not classified yet, or of a kind that is not."""
    final: int = Field(ge=0)
    """Approved, released or not."""


class Increase(Value):
    """How much rewriting added, over several tasks."""

    mean: float
    """Per task; below 0 where it took away."""
    percent: float | None
    """All that was added over all there was before, in percent; None where there was nothing."""


class RewriteMagnitude(Value):
    """How much one kind of rewriting changed the tasks of one source (GTA-2, table 3)."""

    source: str | None
    """None: all sources."""
    kind: str
    """`augmentation` or `refinement`."""
    tasks: int = Field(ge=1)
    constraints: Increase
    deliverable_requirements: Increase
    tools: Increase
    """Tools newly allowed."""


class RewritingTable(Value):
    """Both tables; sources in alphabetical order."""

    sources: tuple[SourceOutcomes, ...]
    total: SourceOutcomes
    magnitudes: tuple[RewriteMagnitude, ...]
    """A kind that rewrote no task is left out."""
