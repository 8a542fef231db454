"""Clients of models that generate media, over OpenAI's `images/generations` and `videos`.

OpenAI itself offers no video model any more; servers of open video models speak that format. The
answer is the bytes of a file that has not been validated yet.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Literal, TypeVar

import httpx2
import openai
from pydantic import Field

from environments.models import faults
from environments.models.client import limit_of
from environments.models.faults import AttemptFailed
from environments.models.limits.protocols import Limiter, Outcome, Slot, limited_as
from environments.models.money.prices import price_of
from environments.models.openai.sdk import new_sdk
from environments.models.retry import RetriedCall, RetryPolicy, Try, Unlimited
from environments.models.wire.arguments import clean_text
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.reading import Wire, read_form, read_json
from environments.models.wire.sdk import fault_of
from environments.ports import Generated
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.transcript import Usage

MAX_IMAGE_BYTES = 24_000_000
MAX_VIDEO_BYTES = 48_000_000
_MAX_ANSWER_BYTES = MAX_VIDEO_BYTES + 1_000_000
"""Size of the largest video, or of the largest picture in base64, plus the JSON around it."""

_SIZE = "1024x1024"
_DRAW_SECONDS = 300.0
_FILM_SECONDS = 900.0
_CALL_SECONDS = 120.0
_POLL_SECONDS = 5.0
T = TypeVar("T")


class _Image(Wire):
    b64_json: str | None = None


class _Usage(Wire):
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)


class _Images(Wire):
    data: list[_Image] = Field(min_length=1)
    usage: _Usage | None = None


class _Fault(Wire):
    code: str = ""
    message: str = ""


class _Job(Wire):
    id: str = Field(min_length=1, max_length=200, pattern=r"^[\w.-]+$")
    status: Literal["queued", "in_progress", "completed", "failed"]
    model: str = ""
    error: _Fault | None = None


class _Generator:
    """What both clients share: SDK, retries, the provider's limits, errors."""

    def __init__(
        self,
        endpoint: Endpoint,
        policy: RetryPolicy | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        """Call `endpoint`; without a limiter there is no rate limit."""
        self.endpoint = endpoint
        self._policy = policy or RetryPolicy()
        self._limiter = limiter
        self._sdk = new_sdk(endpoint, _MAX_ANSWER_BYTES)

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    async def _retried(self, attempt: Callable[[float], Awaitable[T]], seconds: float) -> T:
        async def once(one: Try) -> T:
            try:
                made = await self._told_apart(attempt(one.seconds))
            except (AttemptFailed, ModelRejected) as exc:
                one.slot.report(Outcome(**limit_of(exc)))
                raise
            one.slot.report(Outcome(kind="ok"))
            return made

        return await RetriedCall(str(self.endpoint), seconds, self._policy, self._slot).run(once)

    async def _told_apart(self, attempt: Awaitable[T]) -> T:
        try:
            return await attempt
        except openai.APIError as exc:
            # `from None`: an exception of the SDK quotes the request.
            raise fault_of(self.endpoint, exc) from None

    def _slot(self, seconds: float) -> AbstractAsyncContextManager[Slot]:
        if self._limiter is None:
            return nullcontext(Unlimited())
        name = limited_as(f"{self.endpoint.spec.provider}@{self.endpoint.host}")
        return self._limiter.slot(name, 0, seconds)


class OpenAIImages(_Generator):
    """An `ImageModel` behind `images/generations`."""

    async def draw(self, prompt: str) -> Generated:
        """Return one picture.

        Raises:
            ModelUnavailable: retries or time ran out.
            ConversationRefused: the provider refuses this prompt.
            ModelRejected: any other refusal, or a link instead of a picture.
        """
        return await self._retried(partial(self._attempt, prompt), _DRAW_SECONDS)

    async def _attempt(self, prompt: str, seconds: float) -> Generated:
        spec = self.endpoint.spec
        # GPT image models always answer with bytes, and refuse the parameter that asks for them.
        asks = spec.provider == "compatible" or spec.model.startswith("dall-e")
        body: dict[str, Any] = {"response_format": "b64_json"} if asks else {}
        response = await self._sdk.images.with_raw_response.generate(
            model=spec.model, prompt=prompt, n=1, size=_SIZE, extra_body=body, timeout=seconds + 5
        )
        form = read_form(str(self.endpoint), read_json(response.content), _Images)
        usage = None if form.usage is None else Usage(**form.usage.model_dump())
        price = price_of(spec)
        return Generated(
            data=self._decoded(form.data[0].b64_json),
            model=spec.model,
            usage=usage or Usage(),
            cost_usd=None if price is None or usage is None else price.cost_usd(usage),
        )

    def _decoded(self, encoded: str | None) -> bytes:
        if encoded is None:
            raise ModelRejected(
                f"{self.endpoint}: gave a link instead of a picture; use a server that answers "
                "with b64_json"
            )
        if len(encoded) > MAX_IMAGE_BYTES * 4 // 3:
            raise ModelRejected(f"{self.endpoint}: the picture has over {MAX_IMAGE_BYTES} bytes")
        try:
            data = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            data = b""
        if not data:
            raise AttemptFailed(f"{self.endpoint}: what should be a picture is not base64")
        return data


class OpenAIVideos(_Generator):
    """A `VideoModel` behind `videos`: a job is started and polled, then its video is downloaded."""

    def __init__(
        self,
        endpoint: Endpoint,
        policy: RetryPolicy | None = None,
        limiter: Limiter | None = None,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        super().__init__(endpoint, policy, limiter)
        self._poll_seconds = poll_seconds

    async def film(self, prompt: str) -> Generated:
        """Return one short video; its cost is unknown, because providers bill by the second.

        Raises:
            ModelUnavailable: retries or time ran out, or the job failed.
            ConversationRefused: the provider refuses this prompt.
            ModelRejected: any other refusal.
        """
        deadline = time.monotonic() + _FILM_SECONDS
        job = await self._retried(partial(self._start, prompt), _CALL_SECONDS)
        while job.status in ("queued", "in_progress"):
            if time.monotonic() > deadline:
                raise ModelUnavailable(f"{self.endpoint}: no clip within {_FILM_SECONDS:.0f} s")
            await asyncio.sleep(self._poll_seconds)
            job = await self._retried(partial(self._look, job.id), _CALL_SECONDS)
        if job.status == "failed":
            raise self._failure(job.error or _Fault())
        data = await self._retried(partial(self._fetch, job.id), _CALL_SECONDS)
        model = clean_text(job.model)[:200] or self.endpoint.spec.model
        return Generated(data=data, model=model)

    async def _start(self, prompt: str, seconds: float) -> _Job:
        response = await self._sdk.post(
            "/videos",
            cast_to=httpx2.Response,
            body={"prompt": prompt, "model": self.endpoint.spec.model},
            # A multipart form, because the API allows a start picture.
            options={"headers": {"Content-Type": "multipart/form-data"}, "timeout": seconds + 5},
        )
        return self._read(response)

    async def _look(self, job: str, seconds: float) -> _Job:
        return self._read(await self._get(f"/videos/{job}", seconds))

    async def _get(self, path: str, seconds: float) -> httpx2.Response:
        return await self._sdk.get(path, cast_to=httpx2.Response, options={"timeout": seconds + 5})

    async def _fetch(self, job: str, seconds: float) -> bytes:
        data = (await self._get(f"/videos/{job}/content", seconds)).content
        if not data or len(data) > MAX_VIDEO_BYTES:
            raise ModelRejected(
                f"{self.endpoint}: the clip has {len(data)} bytes; 1 to {MAX_VIDEO_BYTES} are taken"
            )
        return data

    def _read(self, response: httpx2.Response) -> _Job:
        return read_form(str(self.endpoint), read_json(response.content), _Job)

    def _failure(self, fault: _Fault) -> ModelRejected | ModelUnavailable:
        said = faults.one_line(clean_text(fault.message or fault.code), self.endpoint.key)
        if "moderation" in fault.code or "policy" in fault.code:
            return faults.ConversationRefused(f"{self.endpoint}: will not film this: {said}")
        return ModelUnavailable(f"{self.endpoint}: the clip failed: {said or 'no reason given'}")
