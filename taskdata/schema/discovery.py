"""A discovery of seed queries: what is asked of a model, and what of its answers is left out."""

from pydantic import Field

from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.construct import SpendingLimits
from taskdata.schema.package import Difficulty
from taskdata.schema.task import Capability

MADE_BY_MODEL = "made by a model"
"""The licence of what nobody wrote."""


class OfferedTool(Value):
    """A tool, or an MCP server as a whole, that scenarios may call for."""

    name: str
    category: Capability
    description: str


class DiscoveryConfig(Value):
    """How seeds are discovered."""

    domain: str = Field(min_length=3, max_length=400)
    """The field of work, such as a family and subcategory of TOBench."""
    model: ModelSpec
    base_url: str | None = None
    count: int = Field(ge=1, le=300)
    """Seeds that are wanted."""
    limits: SpendingLimits = SpendingLimits()
    licence: str = Field(default=MADE_BY_MODEL, min_length=1, max_length=200)
    max_asks: int = Field(default=3, ge=1, le=10)
    """Times the model is asked for one structured answer."""
    max_reply_tokens: int = Field(default=8_192, ge=16)


class DroppedProposal(Value):
    """A request that became no seed."""

    text: str
    difficulty: Difficulty
    reason: str
