"""What a bank is made of, counted."""

from pydantic import Field

from taskdata.schema.base import Value


class BankStatistics(Value):
    """Histograms over the tasks of a bank; every known category and capability is present."""

    tasks: int = Field(ge=0)
    tools: dict[str, int] = Field(default_factory=dict)
    categories: dict[str, int] = Field(default_factory=dict)
    capabilities: dict[str, int] = Field(default_factory=dict)
    modalities: dict[str, int] = Field(default_factory=dict)
    difficulties: dict[str, int] = Field(default_factory=dict)
    tiers: dict[str, int] = Field(default_factory=dict)
    sources: dict[str, int] = Field(default_factory=dict)
    checkable_share: float | None = Field(default=None, ge=0, le=1)
    """Mean share of a tree's weight that code can verify; None without tasks."""
