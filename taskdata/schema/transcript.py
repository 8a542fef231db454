"""The record of a trial: messages, model calls, tool calls and results, in order."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from taskdata.schema.base import GrowingValue, Sha256, Value
from taskdata.schema.plan import Plan
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.usage import FailedAttempt, Usage

__all__ = [
    "PROGRAMS_INSTRUCTIONS",
    "Ending",
    "Event",
    "GivenStep",
    "MessageEvent",
    "ModelEvent",
    "Prediction",
    "ResultPicture",
    "ShownFile",
    "SimulatedTurn",
    "ToolCall",
    "ToolEvent",
    "Transcript",
    "Usage",
]


PROGRAMS_INSTRUCTIONS = "The program's instructions to its model:\n\n"
"""How the text of a system message begins that a program told its model; ours do not."""


class ToolCall(Value):
    """A call as the model asked for it."""

    id: str
    tool: str
    arguments: dict[str, Any] | None
    """None when `raw` could not be read as a JSON object."""
    raw: str = ""
    """The arguments as the model wrote them."""


class ShownFile(Value):
    """An input file that went to the model itself, with a message."""

    name: str
    """Path in the workspace."""
    sha256: Sha256
    media_type: str


class ResultPicture(ShownFile):
    """A picture of a tool's result; its bytes are in the artifact store."""

    size_bytes: int = Field(ge=0)
    width: int = Field(ge=1)
    """In pixels."""
    height: int = Field(ge=1)
    was_shown: bool
    """Whether the model was given it as a picture; otherwise it read a description."""


class GivenStep(Value):
    """A step of the reference that the model reads as if it had been its own last turn."""

    number: int = Field(ge=1)
    """Among the reference's steps."""
    thought: str = ""
    call: ToolCall
    result: str


class SimulatedTurn(Value):
    """The model calls behind one turn of the simulated user."""

    model: str
    """Model id as reported by the provider."""
    ends: bool = False
    """Whether the user ended the talk with this turn; the agent does not receive it then."""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """Cost that the agent's cost does not include; None: the price is unknown."""
    started_at: datetime
    seconds: float = Field(ge=0)
    cached: bool = False
    """Answered from kept replies: usage and cost are what it took when it was asked."""


class MessageEvent(GrowingValue):
    """Text given to the agent: instructions, the query, feedback, a framework notice."""

    added_later: ClassVar[frozenset[str]] = frozenset({"shown", "cost_usd", "given", "simulated"})

    kind: Literal["message"] = "message"
    role: Literal["system", "user"]
    text: str
    shown: tuple[ShownFile, ...] = ()
    """Files that went to the model with the text; their bytes are the task's."""
    cost_usd: float | None = 0.0
    """Of the models of tools that were used to make the text; None: a price is unknown."""
    given: GivenStep | None = None
    """Step by step mode: what was given instead of the model's last turn."""
    simulated: SimulatedTurn | None = None
    """The text is a turn of the simulated user; its cost is no part of `cost_usd`."""


class ModelEvent(GrowingValue):
    """One model call and its reply."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {"thinking", "waited_seconds", "failed_attempts", "cached"}
    )

    kind: Literal["model"] = "model"
    text: str
    thinking: str = ""
    """What can be read of the model's thoughts before it; empty where its provider hides them."""
    tool_calls: tuple[ToolCall, ...] = ()
    model: str
    """Model id as reported by the provider."""
    stop_reason: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None: the price is unknown."""
    started_at: datetime
    seconds: float = Field(ge=0)
    """Without `waited_seconds`."""
    waited_seconds: float = Field(default=0.0, ge=0)
    """In line for the provider's rate limits."""
    failed_attempts: tuple[FailedAttempt, ...] = ()
    """Those before the one that brought the reply."""
    cached: bool = False
    """Answered from kept replies: usage and cost are what it took when it was asked."""


class ToolEvent(GrowingValue):
    """One tool call and its result."""

    added_later: ClassVar[frozenset[str]] = frozenset({"usage", "cost_usd", "pictures"})

    kind: Literal["tool"] = "tool"
    call: ToolCall
    text: str
    files: tuple[str, ...] = ()
    error: ToolErrorKind | None = None
    usage: Usage = Usage()
    """Of the models that the tool itself asked."""
    cost_usd: float | None = 0.0
    """Of the same; None: a price is unknown."""
    pictures: tuple[ResultPicture, ...] = ()
    """Those of the result that were kept, in order."""
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
    OUT_OF_EXCHANGES = "out_of_exchanges"
    """The user gave all the answers that the task allows, and the talk was not over."""
    STUCK = "stuck"
    """Replies in a row had the same fault and could not be used; the last notice says which."""
    IN_ERROR = "in_error"
    """The agent's own program failed."""


class Prediction(Value):
    """What a model would do next, where it was given the reference's steps until there.

    One of step by step mode (GTA, section 4.1): InstAcc, ToolAcc, ArgAcc and SummAcc are counted
    over them.
    """

    call: ToolCall | None = None
    """The call it would make; None: it would not use a tool, or did not say which."""
    answer: str | None = None
    """The final answer it would give; None: it would go on."""
    error: str | None = None
    """Why it could not be carried out: unreadable, unknown tool, arguments that do not fit."""


class Transcript(GrowingValue):
    """Ordered events of a trial, its final answer and why it ended."""

    added_later: ClassVar[frozenset[str]] = frozenset(
        {"tools", "is_outcome_only", "has_unseen_calls", "predictions", "plan", "predicted_plan"}
    )

    events: tuple[Event, ...]
    final_answer: str
    """Empty when the agent gave none."""
    ending: Ending
    tools: tuple[ToolSpec, ...] = ()
    """What the agent was offered; empty in transcripts of an earlier revision."""
    is_outcome_only: bool = False
    """Nobody saw the agent work: the events are unknown, not none."""
    has_unseen_calls: bool = False
    """The agent is a program with tools of its own: its tool calls are unknown, not none."""
    predictions: tuple[Prediction, ...] = ()
    """Step by step mode: one for each reference step and one for the answer, as far as it got."""
    plan: Plan | None = None
    """What the agent's model planned before the first event; None: it was not asked to."""
    predicted_plan: PredictedPlan | None = None
    """The answer to a planning case; None: the task is none, or nothing was answered."""

    @property
    def turns(self) -> int:
        """Number of model calls but those for a plan; for agents without a model, of tool calls."""
        models = sum(1 for e in self.events if isinstance(e, ModelEvent))
        return models or len(self.tool_events)

    @property
    def tool_events(self) -> tuple[ToolEvent, ...]:
        """The tool calls in order."""
        return tuple(e for e in self.events if isinstance(e, ToolEvent))

    @property
    def calls_are_known(self) -> bool:
        """Whether `tool_events` are all the tool calls that there were."""
        return not (self.is_outcome_only or self.has_unseen_calls)

    @property
    def usage(self) -> Usage:
        """Sum over the agent's model calls, those for its plan included.

        What its tools used stands with their events.
        """
        total = Usage() if self.plan is None else self.plan.usage
        for event in self.events:
            if isinstance(event, ModelEvent):
                total += event.usage
        return total

    @property
    def cost_usd(self) -> float | None:
        """Sum over plan and all events: 0 without any, None where one price is unknown."""
        costs = [event.cost_usd for event in self.events]
        costs += [] if self.plan is None else [self.plan.cost_usd]
        known = [c for c in costs if c is not None]
        return sum(known) if len(known) == len(costs) else None
