"""Pictures, recordings and documents that go with a message, as each provider wants them."""

import asyncio
import base64

import pytest

from environments.models.faults import ConversationTooLong
from environments.models.money.prices import Price
from environments.models.money.spending import call_bound
from environments.models.record.keys import reply_key
from environments.ports import Media, Message, ModelRequest
from taskdata.errors import Misuse, ModelRejected
from taskdata.schema.agent import ModelSpec

PNG = Media("image/png", b"\x89PNG not decoded", "chart.png")
PDF = Media("application/pdf", b"%PDF-1.7", "report.pdf")
WAV = Media("audio/wav", b"RIFF", "call.wav")
MP3 = Media("audio/mpeg", b"ID3", "song.mp3")


def encoded(media: Media) -> str:
    return base64.b64encode(media.data).decode()


def sent(wire, client, *messages: Message) -> list:
    """The messages of the request as they arrived."""

    async def run() -> None:
        try:
            await client.reply(ModelRequest(messages=messages))
        finally:
            await client.close()

    asyncio.run(run())
    body = wire.seen[-1].body
    return body["input"] if "input" in body else body["messages"]


def test_attachments_on_the_openai_wire(wire, new_client):
    message = Message("user", "What is this?", media=(PNG, PDF, WAV, MP3))

    (arrived,) = sent(wire, new_client("openai"), message)

    pdf = f"data:application/pdf;base64,{encoded(PDF)}"
    assert arrived["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}},
        {"type": "file", "file": {"filename": "report.pdf", "file_data": pdf}},
        {"type": "input_audio", "input_audio": {"data": encoded(WAV), "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": encoded(MP3), "format": "mp3"}},
        {"type": "text", "text": "What is this?"},
    ]


def test_attachments_on_the_anthropic_wire(wire, new_client):
    message = Message("user", "What is this?", media=(PNG, PDF))

    (arrived,) = sent(wire, new_client("anthropic"), message)

    def source(media: Media) -> dict:
        return {"type": "base64", "media_type": media.media_type, "data": encoded(media)}

    assert arrived["content"] == [
        {"type": "image", "source": source(PNG)},
        {"type": "document", "source": source(PDF), "title": "report.pdf"},
        {"type": "text", "text": "What is this?"},
    ]


def test_attachments_on_the_responses_wire(wire, new_client):
    message = Message("user", "What is this?", media=(PNG, PDF))

    (arrived,) = sent(wire, new_client("openai-responses"), message)

    pdf = f"data:application/pdf;base64,{encoded(PDF)}"
    assert arrived["content"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{encoded(PNG)}"},
        {"type": "input_file", "filename": "report.pdf", "file_data": pdf},
        {"type": "input_text", "text": "What is this?"},
    ]


def test_a_picture_needs_no_words(wire, new_client, dialect):
    (arrived,) = sent(wire, new_client(dialect), Message("user", "", media=(PNG,)))
    assert [part["type"] for part in arrived["content"]] in (
        *(["image_url"], ["input_image"], ["image"]),
    )


def test_text_alone_stays_as_it_was(wire, new_client):
    assert sent(wire, new_client("openai"), Message("user", "Hi")) == [
        {"role": "user", "content": "Hi"}
    ]
    assert sent(wire, new_client("anthropic"), Message("user", "Hi")) == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    ]


def test_what_is_too_large_is_not_sent(wire, new_client, dialect):
    huge = Media("image/png", bytes(3_700_001), "wall.png")
    with pytest.raises(ConversationTooLong, match=r"wall\.png has 3700001 bytes"):
        sent(wire, new_client(dialect), Message("user", "", media=(huge,)))
    many = (Media("image/png", bytes(3_600_000)),) * 7
    with pytest.raises(ConversationTooLong, match="7 attachments have 25200000 bytes together"):
        sent(wire, new_client(dialect), Message("user", "", media=many))
    assert wire.seen == []


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_a_provider_without_ears_says_so(wire, new_client, provider):
    with pytest.raises(ModelRejected, match=r"call\.wav: this provider takes no audio"):
        sent(wire, new_client(provider), Message("user", "", media=(WAV,)))
    assert wire.seen == []


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_only_messages_of_users_and_tools_carry_media(role):
    with pytest.raises(Misuse, match=f"a {role} message carries media"):
        Message(role, "look", media=(PNG,))


def test_no_bytes_are_shown_in_messages_and_logs():
    assert "not decoded" not in repr(Message("user", "", media=(PNG,)))


SPEC = ModelSpec.parse("openai/gpt-5.2")


def key(*media: Media) -> str:
    return reply_key(SPEC, None, ModelRequest(messages=(Message("user", "Hi", media=media),)))


def test_kept_replies_differ_by_what_was_shown():
    other = Media("image/png", b"another picture", "chart.png")
    assert len({key(), key(PNG), key(other), key(PNG, other), key(PDF)}) == 5
    assert key(PNG) == key(Media("image/png", PNG.data, "chart.png"))


def test_a_key_does_not_change_or_what_was_kept_is_lost():
    assert key() == "49bc49bfaace84f4bb95325c38e9df54fad02b521cc75629caaf9cf073b0c00e"


def test_the_bound_of_a_call_counts_what_is_shown():
    price = Price(input=1, output=1, cached_input=1)

    def bound(*media: Media) -> int:
        request = ModelRequest(messages=(Message("user", "", media=media),), max_tokens=1)
        return call_bound(request, price).tokens

    # A picture's bytes say nothing of its pixels, and a document's nothing of its pages.
    assert bound(Media("image/png", bytes(30))) == bound() + 50_000
    assert bound(Media("image/png", bytes(3_000_000))) == bound() + 50_000
    document = b"<< /Type /Page >>".ljust(30_000)
    assert bound(Media("application/pdf", document)) == bound() + 40_000 + 10_000
    assert bound(Media("audio/wav", bytes(3_000_000))) == bound() + 4_000_000
