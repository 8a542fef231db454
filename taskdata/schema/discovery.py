"""The configuration of a discovery of seed queries, and the proposals that it leaves out."""

from pydantic import Field

from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.construct import SpendingLimits
from taskdata.schema.package import Difficulty
from taskdata.schema.task import Capability

MADE_BY_MODEL = "made by a model"
"""The licence of seeds that a model has written."""


class OfferedTool(Value):
    """A tool, or an MCP server as a whole, that scenarios may use."""

    name: str
    category: Capability
    description: str


class DiscoveryConfig(Value):
    """The settings of a discovery."""

    domain: str = Field(min_length=3, max_length=400)
    """The field of work, such as a family and subcategory of TOBench."""
    model: ModelSpec
    base_url: str | None = None
    count: int = Field(ge=1, le=300)
    """Number of seeds to find."""
    limits: SpendingLimits = SpendingLimits()
    licence: str = Field(default=MADE_BY_MODEL, min_length=1, max_length=200)
    max_asks: int = Field(default=3, ge=1, le=10)
    """How often the model is asked for one structured answer."""
    max_reply_tokens: int = Field(default=8_192, ge=16)


class DroppedProposal(Value):
    """A proposed request that was left out."""

    text: str
    difficulty: Difficulty
    reason: str
