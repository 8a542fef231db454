"""Pictures of tool results on the wire, as each format has a place for them."""

import asyncio
import base64

from environments.models.money.media import picture_tokens
from environments.models.money.prices import Price
from environments.models.money.spending import call_bound
from environments.models.record.keys import reply_key
from environments.ports import Media, Message, ModelRequest
from taskdata.schema.agent import ModelSpec
from taskdata.schema.transcript import ToolCall

PNG = Media("image/png", b"\x89PNG not decoded", "output/deck.pptx, slide 1")
JPEG = Media("image/jpeg", b"\xff\xd8\xff not decoded", "input/photo.jpg")
CALLS = tuple(ToolCall(id=f"c{n}", tool="view_file", arguments={}, raw="{}") for n in (1, 2))


def conversation(*media: Media) -> tuple[Message, ...]:
    return (
        Message("user", "Make a deck."),
        Message("assistant", "", tool_calls=CALLS),
        Message("tool", "one slide", call_id="c1", media=media),
        Message("tool", "a file", call_id="c2"),
        Message("assistant", "I see."),
        Message("user", "Go on."),
    )


def sent(wire, client, *messages: Message) -> list:
    async def run() -> None:
        try:
            await client.reply(ModelRequest(messages=messages))
        finally:
            await client.close()

    asyncio.run(run())
    body = wire.seen[-1].body
    return body["input"] if "input" in body else body["messages"]


def encoded(media: Media) -> str:
    return base64.b64encode(media.data).decode()


def url(media: Media) -> str:
    return f"data:{media.media_type};base64,{encoded(media)}"


def test_chat_completions_get_them_from_the_user_after_all_results(wire, new_client):
    arrived = sent(wire, new_client("openai"), *conversation(PNG, JPEG))

    assert [m["role"] for m in arrived] == [
        *("user", "assistant", "tool", "tool", "user", "assistant", "user")
    ]
    assert arrived[2] == {"role": "tool", "tool_call_id": "c1", "content": "one slide"}
    assert arrived[4]["content"] == [
        {"type": "text", "text": "From the result of call c1: output/deck.pptx, slide 1"},
        {"type": "image_url", "image_url": {"url": url(PNG)}},
        {"type": "text", "text": "From the result of call c1: input/photo.jpg"},
        {"type": "image_url", "image_url": {"url": url(JPEG)}},
    ]


def test_pictures_of_several_results_come_in_one_message_at_the_end(wire, new_client):
    messages = [*conversation(PNG)[:3], Message("tool", "b", call_id="c2", media=(JPEG,))]

    arrived = sent(wire, new_client("openai"), *messages)

    assert [m["role"] for m in arrived] == ["user", "assistant", "tool", "tool", "user"]
    kinds = [part["type"] for part in arrived[-1]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url"]


def test_responses_carry_them_in_the_output_of_the_call(wire, new_client):
    arrived = sent(wire, new_client("openai-responses"), *conversation(PNG))

    outputs = [item["output"] for item in arrived if item.get("type") == "function_call_output"]
    assert outputs == [
        [
            {"type": "input_text", "text": "one slide"},
            {"type": "input_image", "image_url": url(PNG)},
        ],
        "a file",
    ]


def test_messages_carry_them_in_the_result(wire, new_client):
    arrived = sent(wire, new_client("anthropic"), *conversation(PNG))

    source = {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}
    results = arrived[2]["content"]
    assert [block["tool_use_id"] for block in results] == ["c1", "c2"]
    assert results[0]["content"] == [
        {"type": "text", "text": "one slide"},
        {"type": "image", "source": source},
    ]
    assert results[1]["content"] == "a file"


def test_results_without_pictures_stay_as_they_were(wire, new_client, dialect):
    arrived = sent(wire, new_client(dialect), *conversation())
    assert "image" not in str(arrived)
    roles = [m.get("role") for m in arrived]
    assert roles.count("user") == {"openai": 2, "openai-responses": 2, "anthropic": 3}[dialect]


def test_the_bound_of_a_call_counts_them_as_scaled_pictures():
    price = Price(input=1, output=1, cached_input=1)

    def bound(*media: Media) -> int:
        request = ModelRequest(messages=conversation(*media), max_tokens=1)
        return call_bound(request, price).tokens

    spec = ModelSpec.parse("openai/gpt-5.2")
    drawn = Media("image/png", b"\x89PNG", "a slide", picture_tokens(spec))
    assert bound(drawn) == bound() + 6_000
    assert picture_tokens(ModelSpec.parse("openai/gpt-4o-mini")) == 40_000


def test_kept_replies_differ_by_what_a_result_showed():
    def key(*media: Media) -> str:
        request = ModelRequest(messages=conversation(*media))
        return reply_key(ModelSpec.parse("openai/gpt-5.2"), None, request)

    assert len({key(), key(PNG), key(JPEG)}) == 3
    assert key(PNG) == key(Media("image/png", PNG.data, PNG.name))
