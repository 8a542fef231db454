"""What every provider's client does alike: retries, timing, cost, stop strings, reading bodies."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from environments.models.arguments import clean_text
from environments.models.faults import AttemptFailed, ConversationTooLong
from environments.models.prices import price_of
from environments.models.retry import RetryPolicy, with_retries
from environments.ports import ModelReply, ModelRequest
from taskdata.errors import ModelRejected
from taskdata.schema.agent import ModelSpec
from taskdata.schema.transcript import ToolCall, Usage

_MODEL_ID_CHARS = 200

# Below the least that a provider takes: 5 MB of base64 for a picture, 32 MB for a request.
_MAX_MEDIA_BYTES = {"image": 3_700_000, "audio": 20_000_000, "application": 20_000_000}
_MAX_MEDIA_TOGETHER = 22_000_000


class Wire(BaseModel):
    """A part of a response: types are strict, fields that we do not use are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


W = TypeVar("W", bound=Wire)


@dataclass(frozen=True)
class Answer:
    """What a client read from one successful response."""

    text: str
    model: str
    stop_reason: str
    """`stop`, `tool_calls`, `length` or `refused`, whatever the provider calls it; a reason that
    is none of these stays as it came."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """None: the server did not say."""
    cache_write_tokens: int = 0


@dataclass(frozen=True)
class Endpoint:
    """Where a model is, and the key to it."""

    spec: ModelSpec
    base_url: str
    key: str = field(repr=False)

    def __str__(self) -> str:
        url = urlsplit(self.base_url)
        port = f":{url.port}" if url.port else ""
        return f"{self.spec} at {url.hostname}{port}"


class ProviderClient(ABC):
    """A `ModelClient` over HTTP; a subclass knows one wire format."""

    takes_audio = True

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy) -> None:
        self.endpoint = endpoint
        self._policy = policy
        self._price = price_of(endpoint.spec)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer; `request.timeout_seconds` bounds all attempts together.

        Raises:
            ModelUnavailable: Retries or time ran out.
            NoAnswerInTime: The time ran out during the first attempt.
            ConversationTooLong: The conversation does not fit; a shorter one may.
            ConversationRefused: The provider will not answer this content.
            ModelRejected: Any other no: key, model name, parameters, media it cannot take.
        """
        self._require_sendable(request)
        started = time.monotonic()
        answer = await with_retries(
            lambda seconds: self._attempt(request, seconds),
            str(self.endpoint),
            request.timeout_seconds,
            self._policy,
        )
        return ModelReply(
            text=_cut(clean_text(answer.text), request.stop),
            model=clean_text(answer.model)[:_MODEL_ID_CHARS],
            tool_calls=answer.tool_calls,
            usage=answer.usage or Usage(),
            cost_usd=self._cost(answer),
            stop_reason=answer.stop_reason,
            seconds=time.monotonic() - started,
        )

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    async def _attempt(self, request: ModelRequest, seconds: float) -> Answer:
        """Make one call; raise `AttemptFailed` or a `ModelRejected`.

        The caller cancels it after `seconds`; the SDK's own timeout only has to be longer.
        """

    def _require_sendable(self, request: ModelRequest) -> None:
        attached = [media for message in request.messages for media in message.media]
        for media in attached:
            limit = _MAX_MEDIA_BYTES[media.media_type.partition("/")[0]]
            if len(media.data) > limit:
                raise ConversationTooLong(
                    f"{self.endpoint}: {media.name} has {len(media.data)} bytes, and at most "
                    f"{limit} of {media.media_type} can be sent; make it smaller"
                )
            if media.media_type.startswith("audio/") and not self.takes_audio:
                raise ModelRejected(
                    f"{self.endpoint}: {media.name}: this provider takes no audio; use a model "
                    "that does"
                )
        if (together := sum(len(media.data) for media in attached)) > _MAX_MEDIA_TOGETHER:
            raise ConversationTooLong(
                f"{self.endpoint}: {len(attached)} attachments have {together} bytes together, "
                f"and at most {_MAX_MEDIA_TOGETHER} can be sent; attach fewer"
            )

    def _cost(self, answer: Answer) -> float | None:
        if self._price is None or answer.usage is None:
            return None
        return self._price.cost_usd(answer.usage, answer.cache_write_tokens)

    def _read(self, body: bytes, content_type: str, form: type[W]) -> W:
        """Return a 200 response's body as `form`; anything else is a failed attempt."""
        return read_body(self.endpoint, body, content_type, form)


def read_body(endpoint: Endpoint, body: bytes, content_type: str, form: type[W]) -> W:
    """Return a 200 response's body as `form`; anything else is a failed attempt."""
    try:
        return form.model_validate(json.loads(body))
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        cause = f"unexpected answer: {place}: {first['msg']}"
    except (ValueError, RecursionError):
        cause = f"the answer is not JSON ({content_type or 'no content type'})"
    raise AttemptFailed(f"{endpoint}: {cause}, {len(body)} bytes")


def _cut(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first stop string, for servers that do not stop there."""
    places = [text.index(stop) for stop in stops if stop in text]
    return text[: min(places)] if places else text
