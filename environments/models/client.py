"""What all providers' clients share: attempts and limits, cost, stop strings, media."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from environments.models import faults
from environments.models.faults import (
    AttemptFailed,
    ConversationTooLong,
    NotSent,
    ProviderError,
    TooDear,
)
from environments.models.formats.reply import ParsedReply
from environments.models.limits.headers import allowances
from environments.models.limits.protocols import Limiter, Outcome, Slot, limited_as
from environments.models.money.prices import price_of
from environments.models.money.run_budget import RunBudget
from environments.models.money.spending import call_bound
from environments.models.retry import RetriedCall, RetryPolicy, Try, Unlimited
from environments.models.wire.arguments import clean_text, is_storable
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.reading import read_json
from environments.models.wire.sdk import SdkClient
from environments.models.wire.writing import ToolSets
from environments.ports import ModelReply, ModelRequest
from taskdata.errors import Misuse, ModelRejected, ModelUnavailable
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import Usage

if TYPE_CHECKING:
    import httpx2

_MODEL_ID_CHARS = 200
_CHARS_PER_TOKEN = 4
_TOKENS_PER_MEDIA = 1500

# Below the lowest limit of any provider: 5 MB of base64 per picture, 32 MB per request.
_MAX_MEDIA_BYTES = {"image": 3_700_000, "audio": 20_000_000, "application": 20_000_000}
_MAX_MEDIA_TOGETHER = 22_000_000


class ProviderClient(ABC):
    """A `ModelClient` over HTTP; each subclass implements one wire format."""

    takes_audio: ClassVar[bool] = True
    path: ClassVar[str]
    """Path below the base URL."""

    def __init__(
        self,
        endpoint: Endpoint,
        policy: RetryPolicy | None = None,
        limiter: Limiter | None = None,
        run_budget: RunBudget | None = None,
    ) -> None:
        """Call `endpoint`; without a limiter or a `run_budget`, that limit does not exist.

        Raises:
            Misuse: there is a `run_budget` but the price is unknown, so no cap could be enforced.
        """
        self.endpoint = endpoint
        self._policy = policy or RetryPolicy()
        self._limiter = limiter
        self._run_budget = run_budget
        self._price = price_of(endpoint.spec)
        if run_budget is not None and self._price is None:
            raise Misuse(
                f"max_usd: the price of {endpoint.spec} is unknown, so a limit in money cannot be "
                "held; add it to the price table or leave the limit out"
            )
        self._sdk = self._new_sdk()
        self._tools = ToolSets(self._tool)
        self._without: frozenset[str] = frozenset()
        """Request features that this server has refused, such as `stop`."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer; `request.timeout_seconds` limits all attempts together.

        Raises:
            ModelUnavailable: retries or time ran out, or the wait for rate limits took too long.
            NoAnswerInTime: the time ran out during the first attempt.
            ConversationTooLong: the conversation does not fit; a shorter one may.
            ConversationRefused: the provider refuses to answer this content.
            ModelRejected: any other refusal: key, model name, parameters, unsupported media.
            TooDear: the call may cost more than the request allows; it was not made.
            BudgetExhausted: the run's budget does not cover another attempt.
            Misuse: the run's budget is limited, and the price of so long a request is unknown.
        """
        self._require_sendable(request)
        self._require_affordable(request)
        tokens = _estimated_tokens(request)
        call = RetriedCall(
            str(self.endpoint),
            request.timeout_seconds,
            self._policy,
            lambda seconds: self._slot(tokens, seconds),
            most_usd=lambda: call_bound(request, self._price).usd,
            run_budget=self._run_budget,
            max_usd=request.max_usd,
            noted=request.failed,
        )
        answer = await call.run(lambda one: self._attempt(request, one))
        text = clean_text(answer.text)
        shown = _cut(text, request.stop)
        # Text after a stop string must not return to the model through the replay items. Items that
        # cannot be stored are dropped, because storing them would lose the reply, which is paid
        # for.
        goes_back = shown == text and is_storable(list(answer.replay))
        return ModelReply(
            text=shown,
            model=clean_text(answer.model)[:_MODEL_ID_CHARS],
            tool_calls=answer.tool_calls,
            usage=answer.usage or Usage(),
            cost_usd=self._cost(answer.usage),
            stop_reason=answer.stop_reason,
            seconds=call.seconds,
            waited_seconds=call.waited_seconds,
            replay=answer.replay if goes_back else (),
            thinking=answer.thinking,
            failed_attempts=tuple(call.failed),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    @abstractmethod
    def _new_sdk(self) -> SdkClient:
        """Return the SDK client that sends requests to the endpoint."""

    @staticmethod
    @abstractmethod
    def _tool(spec: ToolSpec) -> dict[str, Any]:
        """Return a tool in the format's form."""

    @abstractmethod
    def _body(self, request: ModelRequest) -> bytes:
        """Return the request as JSON."""

    @abstractmethod
    def _answer(self, body: Any) -> ParsedReply:
        """Parse the JSON of an answer with status 200; raises `AttemptFailed` if it is invalid."""

    def _refused_way(self, request: ModelRequest, error: ProviderError) -> str | None:
        """Return the optional request feature that an error is about; None if there is none."""
        return None

    async def _attempt(self, request: ModelRequest, one: Try) -> ParsedReply:
        # Taken once per attempt: concurrent calls may add features that the server refuses.
        without, slot = self._without, one.slot
        one.cost_usd = 0.0
        body = self._body(request)
        # From here on the provider may work on the request, and charge for it whatever the result.
        one.cost_usd = None
        try:
            received = await self._sdk.post(self.path, body)
        except (AttemptFailed, ModelRejected) as exc:
            # The request never arrived, or the server answered with an error status.
            if isinstance(exc, NotSent) or exc.status is not None:
                one.cost_usd = 0.0
            if isinstance(exc, AttemptFailed):
                slot.report(Outcome(kind="fault"))
            raise
        if received.status_code >= 400:
            one.cost_usd = 0.0
        requests, tokens = allowances(received.headers)
        told = Outcome(kind="fault", requests=requests, input_tokens=tokens)
        try:
            self._require_success(request, received, without)
            answer = self._answer(self._decoded(received))
        except (AttemptFailed, ModelRejected) as exc:
            slot.report(told.model_copy(update=limit_of(exc)))
            raise
        one.cost_usd = self._cost(answer.usage)
        used = None if answer.usage is None else answer.usage.total
        slot.report(told.model_copy(update={"kind": "ok", "tokens": used}))
        return answer

    def _require_success(
        self, request: ModelRequest, received: "httpx2.Response", without: frozenset[str]
    ) -> None:
        where, status = str(self.endpoint), received.status_code
        if status < 400:
            return
        body = read_json(received.content)
        if status in (400, 422):
            way = self._refused_way(request, ProviderError.read(body))
            if way is not None and way not in without:
                self._without |= {way}
                error = AttemptFailed(f"{where}: HTTP {status}: takes no {way!r}; asked without")
                error.status, error.at_once = status, True
                raise error
        raise faults.from_status(where, status, received.headers, body, self.endpoint.key)

    def _decoded(self, received: "httpx2.Response") -> Any:
        where, key = str(self.endpoint), self.endpoint.key
        content_type = received.headers.get("content-type", "")
        if content_type.startswith("text/event-stream"):
            raise ModelRejected(
                f"{where}: the server streams its answer though it was not asked to; use one "
                "that answers in one piece"
            )
        body = read_json(received.content)
        if body is None:
            named = self.endpoint.without_key(content_type.encode()).decode()
            kind = faults.one_line(named) or "no content type"
            size = len(received.content)
            raise AttemptFailed(f"{where}: the answer is not JSON ({kind}), {size} bytes")
        if isinstance(body, Mapping) and body.get("error"):
            raise faults.from_error(where, body, received.headers, key)
        return body

    def _slot(self, tokens: int, seconds: float) -> AbstractAsyncContextManager[Slot]:
        if self._limiter is None:
            return nullcontext(Unlimited())
        return self._limiter.slot(self._limited_as, tokens, seconds)

    @property
    def _limited_as(self) -> str:
        return limited_as(f"{self.endpoint.spec.provider}@{self.endpoint.host}")

    def _require_sendable(self, request: ModelRequest) -> None:
        attached = [media for message in request.messages for media in message.attachments]
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

    def _require_affordable(self, request: ModelRequest) -> None:
        if request.max_usd is None:
            return
        usd = call_bound(request, self._price).usd
        if usd is None or usd > request.max_usd:
            may_cost = "an unknown sum" if usd is None else f"{usd:.4f} USD"
            raise TooDear(
                f"{self.endpoint}: the call may cost {may_cost}, and {request.max_usd:.4f} USD are "
                "left for it"
            )

    def _cost(self, usage: Usage | None) -> float | None:
        # No call uses 0 tokens: a server that reports 0 does not count tokens.
        if self._price is None or usage is None or usage.total == 0:
            return None
        return self._price.cost_usd(usage)


def limit_of(fault: ModelUnavailable | ModelRejected) -> dict[str, Any]:
    """Return the part of an `Outcome` that a fault determines."""
    if not isinstance(fault, AttemptFailed):
        # The provider is working; a refused request says nothing about its rate limits.
        return {"kind": "ok"}
    kind = "limited" if fault.is_limit else "fault"
    return {"kind": kind, "retry_after_seconds": fault.retry_after_seconds}


def _estimated_tokens(request: ModelRequest) -> int:
    openings = [m.opening for m in request.messages if m.opening is not None]
    chars = sum(len(message.text) for message in request.messages)
    chars += sum(len(opening.text) for opening in openings)
    shown = sum(len(message.attachments) for message in request.messages)
    return chars // _CHARS_PER_TOKEN + shown * _TOKENS_PER_MEDIA + request.max_tokens


def _cut(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first stop string, for servers that do not stop there themselves."""
    places = [text.index(stop) for stop in stops if stop in text]
    return text[: min(places)] if places else text
