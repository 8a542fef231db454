"""What messages hold beside words: nothing by address, and a bound for what is shown."""

import base64
import json
import zlib

import pytest

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.requests import read_request
from taskdata.errors import ModelRejected

AWAY = "http://attacker.example/?secret"
PNG = "iVBORw0KGgo" + "A" * 8_000
PICTURE = f"data:image/png;base64,{PNG}"


def read(dialect=CHAT, **body):
    return read_request(dialect, json.dumps({"messages": [], **body}).encode(), "model-1")


def said(*parts, dialect=CHAT):
    return read(dialect, messages=[{"role": "user", "content": list(parts)}])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": AWAY}},
        {"type": "image_url", "image_url": {"url": ["data:image/png;base64,AA", AWAY]}},
        {"image_url": AWAY},
        {"image_url": {"url": "file:///etc/passwd"}},
        {"type": "video_url", "video_url": {"url": AWAY}},
        {"type": "audio_url", "audio_url": {"url": AWAY}},
        {"type": "video", "video": [AWAY]},
        {"type": "input_audio", "input_audio": {"data": AWAY, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": AWAY}},
        {"type": "input_image", "image_url": "http://169.254.169.254/"},
        {"type": "image", "source": {"type": "url", "url": "https://x"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {
            "type": "document",
            "source": {
                "type": "content",
                "content": [{"type": "image", "source": {"type": "url", "url": "https://x"}}],
            },
        },
        {"type": "input_file", "file_url": "https://x"},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "computer_screenshot", "image_url": AWAY},
        {"type": "tool_result", "content": [{"type": "image", "source": {"url": "ftp://x"}}]},
    ],
)
def test_no_file_is_fetched_by_the_provider(part):
    with pytest.raises(ModelRejected, match="send its content"):
        said(part)
    with pytest.raises(ModelRejected, match="send its content"):
        read(RESPONSES, input=[{"type": "function_call_output", "output": [part]}])
    with pytest.raises(ModelRejected, match="send its content"):
        read(RESPONSES, input=[{"type": "computer_call_output", "output": part}])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": f"See {AWAY}"},
        {"type": "document", "source": {"type": "text", "data": f"See {AWAY}"}},
        {"type": "search_result", "source": AWAY, "title": "A page", "content": []},
        {
            "type": "output_text",
            "text": "x",
            "annotations": [{"type": "url_citation", "url": AWAY}],
        },
        {"type": "tool_use", "name": "fetch", "input": {"url": AWAY, "type": "image"}},
        {"type": "computer_call", "action": {"type": "open", "url": AWAY}},
        {"type": "image_url", "image_url": {"url": PICTURE}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ],
)
def test_words_and_contents_are_not_taken_for_addresses(part):
    said(part)
    read(RESPONSES, input=[part])


def test_a_tools_schema_may_speak_of_addresses():
    schema = {"type": "object", "properties": {"url": {"examples": [{"url": AWAY}]}}}
    read(tools=[{"type": "function", "function": {"name": "fetch", "parameters": schema}}])


def test_messages_nested_without_end_are_refused():
    part = {"content": "x"}
    for _ in range(50):
        part = {"content": [part]}
    with pytest.raises(ModelRejected, match="nested"):
        read(messages=[part])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": PICTURE}},
        {"image_url": PICTURE},
        {"type": "input_image", "image_url": PICTURE},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "computer_screenshot", "image_url": PICTURE},
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_a_picture_counts_as_what_it_can_come_to_not_as_its_bytes(part, size):
    # How many tokens it is depends on its pixels, of which a blank one may have many.
    shown = json.loads(json.dumps(part).replace(PNG, PNG * size))
    for found in (said(shown), read(RESPONSES, input=[{"output": shown}])):
        assert 50_000 <= found.input_tokens < 60_000


def test_each_picture_counts():
    part = {"type": "image_url", "image_url": {"url": PICTURE}}
    assert 150_000 <= said(part, part, part).input_tokens < 160_000


def test_only_the_picture_itself_counts_less_than_its_bytes():
    part = {"type": "image_url", "image_url": {"url": PICTURE * 50}, "text": "x" * 300_000}
    assert said(part).input_tokens >= 350_000


def pdf(pages: int, packed: bool = False) -> str:
    """Return a document in base64; its pages are objects of their own, or packed together."""
    written = b"\n".join(b"<< /Type /Page /Parent 2 0 R >>" for _ in range(pages))
    if packed:
        stream = zlib.compress(written)
        written = (
            b"5 0 obj << /Type /ObjStm /Filter /FlateDecode >> stream\r\n%s\nendstream" % stream
        )
    return base64.b64encode(b"%PDF-1.7\n<< /Type /Pages /Count 9 >>\n" + written).decode()


@pytest.mark.parametrize("packed", [False, True])
def test_a_documents_pages_count_beside_its_bytes(packed):
    data = pdf(30, packed)
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    address = f"data:application/pdf;base64,{data}"
    for part in (
        {"type": "document", "source": source},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": address}},
        {"type": "input_file", "filename": "a.pdf", "file_data": data},
    ):
        tokens = said(part).input_tokens
        assert 300_000 + len(data) <= tokens < 310_000 + len(data)


def test_a_document_whose_pages_cannot_be_counted_counts_as_a_long_one():
    data = base64.b64encode(b"%PDF-1.7 encrypted").decode()
    part = {"type": "input_file", "file_data": f"data:application/pdf;base64,{data}"}
    assert said(part).input_tokens >= 1_000_000


HOUR = {"type": "ephemeral", "ttl": "1h"}


def test_prompts_are_cached_for_five_minutes_which_is_what_the_price_is_for():
    asked = read(
        MESSAGES,
        cache_control=HOUR,
        system=[{"type": "text", "text": "x", "cache_control": HOUR}],
        tools=[{"name": "look", "input_schema": {}, "cache_control": HOUR}],
        messages=[
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "content": [{"type": "text", "text": "ttl", "cache_control": HOUR}],
                    }
                ],
            }
        ],
    )
    sent = json.dumps(asked.body)
    assert "1h" not in sent
    assert sent.count('"cache_control": {"type": "ephemeral"}') == 4
    assert [notice for notice in asked.notices if "five minutes" in notice]


def test_what_asks_for_nothing_of_the_kind_goes_on_as_it_is():
    brief = {"type": "ephemeral", "ttl": "5m"}
    call = {"type": "tool_use", "name": "keep", "input": {"cache_control": HOUR}}
    parts = [{"type": "text", "text": "x", "cache_control": brief}, call]
    asked = said(*parts, dialect=MESSAGES)
    assert asked.body["messages"][0]["content"] == parts
    assert asked.notices == ()
