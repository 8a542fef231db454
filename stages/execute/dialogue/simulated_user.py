"""The simulated user of a task: a model that answers what the agent says at the end of its turn.

The model is told what the user wants and knows. It is shown the talk so far between marks, because
the agent has written half of it. Only the model's structured answer can end the talk, never the
agent's words. The model's text is untrusted like that of any model, and its cost is recorded apart
from the agent's.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from environments.models.faults import one_line
from environments.models.wire.arguments import clean_text
from environments.ports import ModelClient, ModelReply, ModelRequest
from stages.execute.dialogue import prompts
from taskdata.errors import ModelRejected, ModelUnavailable, SimulatedUserFailed
from taskdata.schema.package import SimulatedUser
from taskdata.schema.transcript import SimulatedTurn, Usage

PROMPT = "simulated_user_v1"
MAX_ASKS = 3
"""How often the model is asked for one turn as long as its reply cannot be read."""
ANSWER_SECONDS = 180.0
"""Longest wait in seconds for one reply, including retries."""
REPLY_TOKENS = 1_024
MOST_SAID_CHARS = 20_000
"""The most characters of one turn of the agent that the user is shown."""

_MARK_LENGTH = 16
_CUT = "\n[the rest of this turn is too long to be shown]"

ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "ends_talk": {"type": "boolean"}},
    "required": ["message", "ends_talk"],
    "additionalProperties": False,
}


class UserAnswer(BaseModel):
    """What the model must answer: exactly this."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    message: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MOST_SAID_CHARS)]
    ends_talk: bool


class Said(NamedTuple):
    """One turn of the talk."""

    who: Literal["user", "assistant"]
    text: str


class UserTurn(NamedTuple):
    """What the user says, and the model calls behind it."""

    text: str
    made: SimulatedTurn


@dataclass
class TalkingUser:
    """The simulated user of one trial, with the talk so far."""

    told: SimulatedUser
    query: str
    """The first message of the talk."""
    asks: Sequence[ModelClient]
    """A client for each of the attempts at one turn, in order."""
    model: str
    """The model's name as the run configures it, for messages."""
    _talk: list[Said] = field(default_factory=list, init=False, repr=False)
    _answers: int = field(default=0, init=False)

    @property
    def most_exchanges(self) -> int:
        """The number of the user's answers after which the talk is over."""
        return self.told.max_exchanges

    @property
    def has_answered_all(self) -> bool:
        """Whether the user has given the last possible answer."""
        return self._answers >= self.most_exchanges

    async def answer(self, said: str) -> UserTurn:
        """Return what the user answers to the last words of the agent's turn.

        Raises:
            SimulatedUserFailed: the model cannot be reached, refuses, or gives no readable answer.
            BudgetExhausted: the run has no money left for it.
        """
        if not self._talk:
            self._talk.append(Said("user", self.query))
        self._talk.append(Said("assistant", _bounded(clean_text(said))))
        request, started_at = talk_request(self.told, self._talk), datetime.now(UTC)
        answer, replies = await self._asked(request)
        self._talk.append(Said("user", answer.message))
        self._answers += 1
        made = SimulatedTurn(
            model=replies[-1].model or self.model,
            ends=answer.ends_talk,
            usage=sum((reply.usage for reply in replies), Usage()),
            cost_usd=_summed([reply.cost_usd for reply in replies]),
            started_at=started_at,
            seconds=sum(reply.seconds for reply in replies),
            cached=all(reply.cached for reply in replies),
        )
        return UserTurn(answer.message, made)

    async def _asked(self, request: ModelRequest) -> tuple[UserAnswer, list[ModelReply]]:
        """Return the first answer that can be read, and all replies until then."""
        replies, fault = list[ModelReply](), ""
        for client in self.asks:
            try:
                replies.append(await client.reply(request))
            except (ModelUnavailable, ModelRejected) as exc:
                raise SimulatedUserFailed(f"the simulated user, {self.model}: {exc}") from exc
            try:
                return read_answer(replies[-1].text), replies
            except ValueError as exc:
                fault = str(exc)
        raise SimulatedUserFailed(
            f"the simulated user, {self.model}: after {len(self.asks)} asks: {fault}"
        )


def read_answer(text: str) -> UserAnswer:
    """Return the model's answer; raises `ValueError` with the fault if it is not valid."""
    try:
        answer = UserAnswer.model_validate_json(clean_text(text))
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"])) or "reply"
        raise ValueError(f"no turn of a user ({where}: {fault['msg']}): {one_line(text)}") from exc
    if not answer.message and not answer.ends_talk:
        raise ValueError("it says nothing and does not end the talk")
    return answer


def talk_request(told: SimulatedUser, talk: Sequence[Said]) -> ModelRequest:
    """Return the question for the user's next turn."""
    facts = {"user": told, "turns": talk, "mark": _mark(talk)}
    return ModelRequest(
        messages=prompts.messages(PROMPT, **facts),
        max_tokens=REPLY_TOKENS,
        json_schema=ANSWER_SCHEMA,
        timeout_seconds=ANSWER_SECONDS,
    )


def _mark(talk: Sequence[Said]) -> str:
    """Return a mark that occurs in no turn: a hash of the talk, which its authors cannot know."""
    written = json.dumps(talk)
    hashes = (hashlib.sha256(f"{n}\n{written}".encode()).hexdigest() for n in count())
    return next(h[:_MARK_LENGTH] for h in hashes if h[:_MARK_LENGTH] not in written)


def _bounded(text: str) -> str:
    return text if len(text) <= MOST_SAID_CHARS else text[:MOST_SAID_CHARS] + _CUT


def _summed(costs: Sequence[float | None]) -> float | None:
    known = [usd for usd in costs if usd is not None]
    return sum(known) if len(known) == len(costs) else None
