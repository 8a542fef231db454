"""What a bank is made of, counted."""

from enum import StrEnum

from pydantic import Field

from taskdata.schema.base import Value


class Modality(StrEnum):
    """Kinds of files that tasks bring or ask for (GTA-2, section 3.3.2)."""

    IMAGE = "image"
    DOCUMENT = "document"
    SPREADSHEET = "spreadsheet"
    SLIDES = "slides"
    AUDIO = "audio"
    VIDEO = "video"
    WEB = "web"
    TEXT = "text"
    DATA = "data"
    """Structured data that is no table: JSON, XML, YAML."""
    CODE = "code"
    OTHER = "other"


class Difficulty(StrEnum):
    """Length of a workflow by the leaves of its checkpoint tree (GTA-2, section 6.2.1)."""

    SHORT = "short"
    """Up to 7 leaves."""
    MEDIUM = "medium"
    """8 to 12 leaves."""
    LONG = "long"
    """13 leaves or more."""


class Spread(Value):
    """How a count, such as the leaves of a checkpoint tree, is spread over a bank's tasks."""

    total: int = Field(ge=0)
    least: int = Field(ge=0)
    median: float = Field(ge=0)
    most: int = Field(ge=0)


class BankStatistics(Value):
    """Histograms over the tasks of a bank: how many tasks have what, each task counted once."""

    tasks: int = Field(ge=0)
    tools: dict[str, int] = Field(default_factory=dict)
    """Tools that some task allows, the most used first."""
    categories: dict[str, int] = Field(default_factory=dict)
    """Every known category, 0 included; so are capabilities, modalities, difficulties, tiers."""
    capabilities: dict[str, int] = Field(default_factory=dict)
    modalities: dict[str, int] = Field(default_factory=dict)
    """By the types of input files and deliverables."""
    difficulties: dict[str, int] = Field(default_factory=dict)
    tiers: dict[str, int] = Field(default_factory=dict)
    sources: dict[str, int] = Field(default_factory=dict)
    """Sources of the tasks, the most used first."""
    checkable_share: float | None = Field(default=None, ge=0, le=1)
    """Mean share of a tree's weight that code can verify; None without tasks."""
    leaves: Spread | None = None
    """Leaves of the checkpoint trees; None without tasks."""
    minutes: Spread | None = None
    """Minutes that a person would need; None without tasks, or where it was not counted yet."""
    steps: Spread | None = None
    """Tool calls of the references; None where no task has one or it was not counted yet."""
