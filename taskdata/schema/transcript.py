"""The record of a trial: messages, model calls, tool calls and results, in order."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.tool import ToolErrorKind


class Usage(Value):
    """Tokens as the provider reported them."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_input_tokens: int = Field(default=0, ge=0)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
        )

    @property
    def total(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


class ToolCall(Value):
    """A call as the model asked for it."""

    id: str
    tool: str
    arguments: dict[str, Any] | None
    """None when `raw` could not be read as a JSON object."""
    raw: str = ""
    """The arguments as the model wrote them."""


class MessageEvent(Value):
    """Text given to the agent: instructions, the query, feedback, a framework notice."""

    kind: Literal["message"] = "message"
    role: Literal["system", "user"]
    text: str


class ModelEvent(Value):
    """One model call and its reply."""

    kind: Literal["model"] = "model"
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    model: str
    """Model id as reported by the provider."""
    stop_reason: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None: the price is unknown."""
    started_at: datetime
    seconds: float = Field(ge=0)


class ToolEvent(Value):
    """One tool call and its result."""

    kind: Literal["tool"] = "tool"
    call: ToolCall
    text: str
    files: tuple[str, ...] = ()
    error: ToolErrorKind | None = None
    started_at: datetime
    seconds: float = Field(ge=0)


Event = Annotated[MessageEvent | ModelEvent | ToolEvent, Field(discriminator="kind")]


class Ending(StrEnum):
    """Why a trial's transcript stops; all of them are the agent's own doing or budget."""

    FINISHED = "finished"
    """The agent called finish or gave a final answer."""
    OUT_OF_TURNS = "out_of_turns"
    OUT_OF_TOKENS = "out_of_tokens"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_MONEY = "out_of_money"
    REFUSED = "refused"
    """The provider refused the conversation (content or context length)."""


class Transcript(Value):
    """Ordered events of a trial, its final answer and why it ended."""

    events: tuple[Event, ...]
    final_answer: str
    """Empty when the agent gave none."""
    ending: Ending

    @property
    def turns(self) -> int:
        """Number of model calls; for agents without a model, of tool calls."""
        models = sum(1 for e in self.events if isinstance(e, ModelEvent))
        return models or len(self.tool_events)

    @property
    def tool_events(self) -> tuple[ToolEvent, ...]:
        """The tool calls in order."""
        return tuple(e for e in self.events if isinstance(e, ToolEvent))

    @property
    def usage(self) -> Usage:
        """Sum over the model calls."""
        total = Usage()
        for event in self.events:
            if isinstance(event, ModelEvent):
                total += event.usage
        return total

    @property
    def cost_usd(self) -> float | None:
        """Sum over the model calls: 0 without any, None where one price is unknown."""
        costs = [e.cost_usd for e in self.events if isinstance(e, ModelEvent)]
        known = [c for c in costs if c is not None]
        return sum(known) if len(known) == len(costs) else None
