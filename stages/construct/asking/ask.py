"""Asks a model for one structured answer, with limits, validation and accounting.

An invalid answer goes back to the model with its fault, a limited number of times; after that there
is no answer, which is a valid result. An endpoint that cannot be reached or refuses us is
different: that raises, and says nothing about the question.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from environments.models.faults import ConversationRefused
from environments.models.money.budget import Spending
from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from stages.construct.answers.forms import Form, schema_of
from stages.construct.answers.json_text import read_json
from stages.construct.asking.prompting import Prompt, complaint
from stages.construct.asking.tokens import shortened_reply, tokens_of
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.transcript import Usage

_logger = logging.getLogger(__name__)

A = TypeVar("A", bound=Form)
T = TypeVar("T")

_FAULTS_TOLD = 5
_FAULT_CHARACTERS = 300
_SHARE_OF_REPLY = 4
"""An invalid answer takes at most this part of a limited conversation when it is shown again."""
_SHORT_FAULT = 500
"""Characters of a fault that is told without the answer, for which there is no room."""
_SHOWN_AGAIN = 40_000
"""Characters of an invalid answer that are shown to the model again, with the fault."""


@dataclass(frozen=True)
class Asks:
    """How often a model is asked for one answer, and how long the answer may be."""

    times: int = 3
    max_tokens: int = 8_192
    prompt_tokens: int | None = None
    """Most tokens of a conversation with an invalid answer and its fault, as far as they can be
    estimated; None: any number. The opening is cut to make room for them."""
    temperature: float | None = None
    """None: the provider's own."""


@dataclass(frozen=True)
class Tally:
    """What several calls used; a cached reply, which another call paid for, counts as nothing."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    """None if one price is unknown."""
    model_id: str | None = None
    """The model id reported last."""

    def __add__(self, other: "Tally") -> "Tally":
        costs = (self.cost_usd, other.cost_usd)
        return Tally(
            calls=self.calls + other.calls,
            usage=self.usage + other.usage,
            cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
            model_id=other.model_id or self.model_id,
        )

    @property
    def spending(self) -> Spending:
        """The same, in the type that budgets count."""
        return Spending(self.calls, self.usage.total, self.cost_usd)

    @classmethod
    def of(cls, reply: ModelReply) -> "Tally":
        """Return what one reply cost."""
        if reply.cached:
            return cls(model_id=reply.model)
        return cls(1, reply.usage, reply.cost_usd, reply.model)


@dataclass(frozen=True)
class Asked(Generic[T]):
    """The result of asking."""

    answer: T | None
    """None: every answer had a fault."""
    faults: tuple[str, ...]
    """The fault of each invalid answer, in order."""
    tally: Tally
    prompt_version: str
    left_out: tuple[str, ...] = ()
    """What the prompt did not show because it would have been too long."""


def as_is(form: A) -> A:
    """Return the filled-in form itself, for questions without further checks."""
    return form


async def ask(
    client: ModelClient,
    prompt: Prompt,
    form: type[A],
    accept: Callable[[A], T],
    asks: Asks,
    schema: dict[str, Any] | None = None,
) -> Asked[T]:
    """Return the result of `accept` for the model's answer.

    Args:
        client: The model.
        prompt: The question.
        form: The form of the answer; sent as a JSON schema.
        accept: Turns the form into the answer; raises `BadTaskData` with what the model should
            mend.
        asks: The limits.
        schema: The form's JSON schema where it is narrower than the form; None: the form's own.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRejected: the provider refused for a reason other than this content.
        BudgetExhausted: the spending limits do not allow the call.
    """
    schema, messages = schema or schema_of(form), list(prompt.messages)
    tally, faults = Tally(), list[str]()
    for _ in range(asks.times):
        request = ModelRequest(
            messages=tuple(messages),
            max_tokens=asks.max_tokens,
            json_schema=schema,
            temperature=asks.temperature,
        )
        try:
            reply = await client.reply(request)
        except ConversationRefused as exc:
            faults.append(f"the provider refused the conversation: {exc}"[:_FAULT_CHARACTERS])
            break
        tally += Tally.of(reply)
        try:
            answer = accept(_filled_in(reply, form))
        except BadTaskData as exc:
            faults.append(str(exc))
            _logger.info("%s: answer %d will not do: %s", prompt.version, len(faults), faults[-1])
            messages = _again(prompt, reply, faults[-1], asks.prompt_tokens)
            continue
        return Asked(answer, tuple(faults), tally, prompt.version, prompt.left_out)
    return Asked(None, tuple(faults), tally, prompt.version, prompt.left_out)


def _filled_in(reply: ModelReply, form: type[A]) -> A:
    if reply.stop_reason == "refused":
        raise BadTaskData("the model refused to answer")
    if reply.stop_reason == "length":
        raise BadTaskData("the answer was cut off at its longest allowed length; be shorter")
    value = read_json(reply.text)
    try:
        return form.model_validate_json(json.dumps(value))
    except ValidationError as exc:
        raise BadTaskData(_located(exc)) from exc


def _located(error: ValidationError) -> str:
    """Return the first faults on one line, each with its place but without the given value."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}"[:_FAULT_CHARACTERS]
        for fault in faults[:_FAULTS_TOLD]
    ]
    more = len(faults) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")


def _again(prompt: Prompt, reply: ModelReply, fault: str, limit: int | None) -> list[Message]:
    # Only the latest answer is shown again: faults of older ones are mended or will reappear.
    said, told = reply.text[:_SHOWN_AGAIN] or "(nothing)", complaint(fault)
    if limit is None or prompt.within is None:
        return [*prompt.messages, Message("assistant", said), told]
    again = [Message("assistant", shortened_reply(said, limit // _SHARE_OF_REPLY)), told]
    try:
        return [*prompt.within(limit - tokens_of(again)).messages, *again]
    except Misuse:  # the opening alone nearly fills the window
        again = [Message("assistant", "(left out)"), complaint(fault[:_SHORT_FAULT])]
        return [*prompt.within(limit - tokens_of(again)).messages, *again]
