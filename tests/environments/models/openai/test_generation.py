"""Models that draw and film, behind a server on this machine."""

import asyncio
import base64
import time

import pytest

from environments.models.faults import ConversationRefused
from environments.models.generators import image_model, require_generator
from environments.models.limits.limiter import ProcessLimiter
from environments.models.openai.generation import OpenAIImages, OpenAIVideos
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import MAX_ANSWER_BYTES
from environments.ports import Generated
from taskdata.errors import Misuse, ModelRejected, ModelUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.transcript import Usage
from tests.environments.models.limiters import limiter_of

FAST = RetryPolicy(attempts=3, first_wait_seconds=0.01)


def endpoint(wire, key: str, model: str) -> Endpoint:
    return Endpoint(ModelSpec.parse(model), wire.openai_url, key)


def draw(wire, key: str, model: str = "compatible/flux") -> Generated:
    async def run() -> Generated:
        client = OpenAIImages(endpoint(wire, key, model), FAST)
        try:
            return await client.draw("a red boat")
        finally:
            await client.close()

    return asyncio.run(run())


def film(wire, key: str) -> Generated:
    async def run() -> Generated:
        client = OpenAIVideos(endpoint(wire, key, "compatible/wan"), FAST, poll_seconds=0.01)
        try:
            return await client.film("a boat leaves")
        finally:
            await client.close()

    return asyncio.run(run())


def picture(data: bytes = b"png") -> dict:
    return {"created": 1, "data": [{"b64_json": base64.b64encode(data).decode()}]}


def test_a_picture_comes_back_as_bytes(wire, key):
    wire.then(wire.answers(picture(b"the picture")))

    made = draw(wire, key)

    assert (made.data, made.model, made.cost_usd) == (b"the picture", "flux", None)
    (seen,) = wire.seen
    assert seen.path == "/v1/images/generations"
    assert seen.headers["Authorization"] == f"Bearer {key}"
    assert (seen.body["prompt"], seen.body["model"], seen.body["n"]) == ("a red boat", "flux", 1)
    assert seen.body["response_format"] == "b64_json"


def test_gpt_image_models_are_not_asked_for_a_format_and_report_usage(wire, key):
    usage = {"input_tokens": 20, "output_tokens": 1000, "total_tokens": 1020}
    wire.then(wire.answers(picture() | {"usage": usage}))

    made = draw(wire, key, "openai/gpt-image-1")

    assert "response_format" not in wire.seen[0].body
    assert made.usage == Usage(input_tokens=20, output_tokens=1000)


def test_drawing_is_tried_again(wire, key):
    wire.then(wire.fails(503), wire.sends(b"<html>"), wire.answers(picture()))
    assert draw(wire, key).data == b"png"
    assert len(wire.seen) == 3


def at_most_one() -> ProcessLimiter:
    return limiter_of({"compatible": Ceilings(concurrency=1)})


def test_pictures_keep_to_the_providers_limits(wire, monkeypatch):
    monkeypatch.delenv("COMPATIBLE_API_KEY", raising=False)
    wire.respond = lambda seen: wire.waits(0.05, wire.answers(picture()))
    spec = ModelSpec.parse("compatible/flux")

    async def draw_three() -> None:
        client = image_model(spec, wire.openai_url, at_most_one())
        try:
            await asyncio.gather(*(client.draw("a red boat") for _ in range(3)))
        finally:
            await client.close()

    asyncio.run(draw_three())
    assert (len(wire.seen), wire.most_at_once) == (3, 1)


def test_clips_keep_to_the_providers_limits_and_hold_no_slot_while_they_are_made(wire, key):
    wire.respond = lambda seen: {
        "/v1/videos": wire.waits(0.05, wire.answers(job("queued"))),
        "/v1/videos/job-1": wire.waits(0.05, wire.answers(job("completed"))),
    }.get(seen.path, wire.sends(b"mp4 bytes", "video/mp4"))
    limiter = at_most_one()

    async def film_two() -> None:
        where = endpoint(wire, key, "compatible/wan")
        client = OpenAIVideos(where, FAST, limiter, poll_seconds=0.01)
        try:
            await asyncio.gather(*(client.film("a boat leaves") for _ in range(2)))
        finally:
            await client.close()

    asyncio.run(film_two())
    assert wire.most_at_once == 1
    assert [seen.path for seen in wire.seen[:2]] == ["/v1/videos"] * 2


def test_a_provider_that_wants_fewer_pictures_is_left_alone_for_as_long_as_it_says(wire, key):
    wire.then(wire.fails(429, retry_after=1), wire.fails(400))
    wire.respond = lambda seen: wire.answers(picture())
    limiter = at_most_one()

    async def refused_then_another() -> float:
        client = OpenAIImages(endpoint(wire, key, "compatible/flux"), RetryPolicy(1), limiter)
        try:
            with pytest.raises(ModelUnavailable):
                await client.draw("a red boat")
            began = time.monotonic()
            with pytest.raises(ModelRejected):
                await client.draw("a red boat")
            return time.monotonic() - began
        finally:
            await client.close()

    assert asyncio.run(refused_then_another()) > 0.9


def test_a_link_is_not_followed(wire, key):
    wire.then(wire.answers({"data": [{"url": "http://169.254.169.254/latest"}]}))
    with pytest.raises(ModelRejected, match="a link instead of a picture"):
        draw(wire, key)


def test_garbage_is_no_picture(wire, key):
    wire.respond = lambda seen: wire.answers({"data": [{"b64_json": "!!!"}]})
    with pytest.raises(ModelUnavailable, match="is not base64"):
        draw(wire, key)


def test_a_refused_prompt_is_told_apart_and_the_key_is_not_repeated(wire, key):
    wire.then(wire.fails(400, f"not with {key}", code="content_policy_violation"))
    with pytest.raises(ConversationRefused) as caught:
        draw(wire, key)
    assert key not in str(caught.value)


def job(status: str, **more) -> dict:
    return {"id": "job-1", "object": "video", "status": status, "model": "wan-2.2", **more}


def test_a_clip_may_be_larger_than_any_reply_in_words(wire, key):
    clip = b"x" * (MAX_ANSWER_BYTES + 1)
    wire.then(wire.answers(job("completed")), wire.sends(clip, "video/mp4"))

    assert film(wire, key).data == clip


def test_a_clip_is_waited_for_and_fetched(wire, key):
    wire.then(
        wire.answers(job("queued")),
        wire.answers(job("in_progress")),
        wire.fails(503),
        wire.answers(job("completed")),
        wire.sends(b"mp4 bytes", "video/mp4"),
    )

    made = film(wire, key)

    assert (made.data, made.model, made.cost_usd) == (b"mp4 bytes", "wan-2.2", None)
    assert wire.seen[0].body == {"prompt": "a boat leaves", "model": "wan"}
    paths = [seen.path for seen in wire.seen]
    assert paths == ["/v1/videos", *["/v1/videos/job-1"] * 3, "/v1/videos/job-1/content"]


def test_a_clip_that_failed_says_why(wire, key):
    fault = {"code": "moderation_blocked", "message": "no"}
    wire.then(wire.answers(job("failed", error=fault)))
    with pytest.raises(ConversationRefused, match="will not film this: no"):
        film(wire, key)
    wire.then(wire.answers(job("failed", error={"code": "oom", "message": "out of memory"})))
    with pytest.raises(ModelUnavailable, match="out of memory"):
        film(wire, key)


def test_a_job_cannot_lead_elsewhere(wire, key):
    wire.respond = lambda seen: wire.answers(job("queued") | {"id": "../chat/completions"})
    with pytest.raises(ModelUnavailable, match="unexpected answer: id"):
        film(wire, key)


def test_who_makes_pictures_and_clips(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    require_generator(ModelSpec.parse("openai/gpt-image-1"), None, "pictures")
    require_generator(ModelSpec.parse("compatible/wan"), "http://localhost:1/v1", "clips")
    with pytest.raises(Misuse, match="makes no pictures"):
        require_generator(ModelSpec.parse("anthropic/claude-opus-4-6"), None, "pictures")
    with pytest.raises(Misuse, match=r"makes no clips; use compatible/\.\.\."):
        require_generator(ModelSpec.parse("openai/sora-2"), None, "clips")
    with pytest.raises(Misuse, match="needs a base URL"):
        require_generator(ModelSpec.parse("compatible/wan"), None, "clips")
