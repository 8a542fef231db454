"""The beginning that several requests share: the same bytes on the wire, and where a cache ends."""

import asyncio
import json

import pytest

from environments.models.money.spending import call_bound
from environments.models.record.keys import reply_key
from environments.ports import Media, Message, ModelRequest, Opening
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

PNG = Media("image/png", b"\x89PNG not decoded", "chart.png")
SEEN = Opening(("A chart: ", PNG, "and no more."))
READ = Opening(("Line 1\n", "Line 2 \u2028\n"))
SPEC = ModelSpec.parse("openai/gpt-5.2")


def asked(opening: Opening, text: str) -> ModelRequest:
    return ModelRequest([Message("system", "Grade."), Message("user", text, opening=opening)])


def bodies(wire, client, opening: Opening) -> list[dict]:
    async def run() -> None:
        try:
            for text in ("Is it red?", "Is it large?"):
                await client.reply(asked(opening, text))
        finally:
            await client.close()

    asyncio.run(run())
    return [seen.body for seen in wire.seen]


def content(body: dict) -> object:
    return (body["input"] if "input" in body else body["messages"])[-1]["content"]


def test_texts_and_pictures_arrive_in_their_order(wire, new_client, dialect):
    first, second = bodies(wire, new_client(dialect), SEEN)
    *shared, last = content(first)
    *again, other = content(second)
    assert shared == again
    assert [part["text"] for part in (shared[0], shared[2], last, other)] == [
        "A chart: ",
        "and no more.",
        "Is it red?",
        "Is it large?",
    ]
    assert "image" in json.dumps(shared[1])


def test_without_pictures_the_content_of_openai_formats_is_one_text(wire, new_client):
    for dialect in ("openai", "openai-responses"):
        wire.seen.clear()
        first, _ = bodies(wire, new_client(dialect), READ)
        assert content(first) == "Line 1\nLine 2 \u2028\nIs it red?"


def test_anthropics_cache_is_told_where_the_opening_ends(wire, new_client):
    first, _ = bodies(wire, new_client("anthropic"), SEEN)
    marked = ["cache_control" in block for block in content(first)]
    assert marked == [False, False, True, False]


def test_openais_cache_gets_one_key_for_one_opening(wire, new_client):
    first, second = bodies(wire, new_client("openai"), SEEN)
    assert first["prompt_cache_key"] == second["prompt_cache_key"]
    (other, _) = bodies(wire, new_client("openai"), READ)[2:]
    assert other["prompt_cache_key"] != first["prompt_cache_key"]


def test_what_is_in_the_opening_is_part_of_the_reply_key_and_of_the_bound():
    keys = {reply_key(SPEC, None, asked(o, "Is it red?")) for o in (SEEN, READ)}
    keys |= {reply_key(SPEC, None, asked(READ, "Is it large?"))}
    assert len(keys) == 3
    seen, read = (call_bound(asked(o, ""), None).tokens for o in (SEEN, READ))
    assert seen > read + 40_000


@pytest.mark.parametrize("fields", [{"role": "system"}, {"role": "user", "media": (PNG,)}])
def test_only_a_user_message_without_media_has_an_opening(fields):
    with pytest.raises(Misuse, match="an opening"):
        Message(text="x", opening=READ, **fields)
