"""Pictures of tool results between a tool and the wire: shown, described, cut, turned down."""

import asyncio
import base64
import hashlib
import json
import re

import pytest

from environments.models.anthropic.messages import AnthropicClient
from environments.models.openai.chat import OpenAIClient
from environments.models.openai.responses import OpenAIResponsesClient
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.tool_runtime.toolbox import Toolbox
from stages.execute.assignment import Assignment
from stages.execute.dialogue.context import Context
from stages.execute.dialogue.journal import Journal
from stages.execute.dialogue.pictures import (
    MAX_OF_RESULT,
    MAX_OF_TRIAL,
    TrialPictures,
    as_media,
)
from stages.execute.harness import harness_kind
from taskdata.artifacts import ArtifactStore
from taskdata.errors import ModelRejected
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolPicture, ToolResult, ToolSpec
from taskdata.schema.transcript import ToolEvent, Transcript

MODELS = {
    "openai": "openai-chat/gpt-5.2",
    "responses": "openai-responses/gpt-5.2",
    "anthropic": "anthropic/claude-opus-4-6",
}
CLIENTS = {"anthropic": AnthropicClient, "openai-responses": OpenAIResponsesClient}
FAST = RetryPolicy(attempts=2, first_wait_seconds=0.01)
_SENT = re.compile(r'"(?:data:image/png;base64,)?([\w+/]{8,}=*)"')


def picture(number: int = 1, data: bytes | None = None, **more: object) -> ToolPicture:
    fields = {"name": f"slide {number}", "media_type": "image/png", "width": 40, "height": 30}
    return ToolPicture.model_validate(
        {**fields, "data": data or b"\x89PNG %d" % number, "words": f"Point {number}", **more}
    )


class Camera:
    """A tool whose results show these pictures."""

    spec = ToolSpec(
        name="look",
        description="Look.",
        category=Capability.PERCEPTION,
        parameters={"type": "object", "properties": {}},
    )

    def __init__(self, *pictures: ToolPicture) -> None:
        self.pictures = pictures

    async def run(self, arguments, sandbox) -> ToolResult:
        return ToolResult(text="It was looked at.", pictures=self.pictures)


@pytest.fixture
def play(wire, new_answer_task):
    """Let an agent work with a camera; returns its transcript and journal."""

    def run(
        model: str, *pictures: ToolPicture, harness="function_calling", record=None, **settings
    ) -> tuple[Transcript, Journal]:
        agent = AgentSpec.parse(f"{harness}:{model}", **settings)
        journal = Journal()

        async def work() -> Transcript:
            spec = agent.model
            dialect = "anthropic" if spec.provider == "anthropic" else "openai"
            endpoint = Endpoint(spec, wire.base_url(dialect), "key")
            client = CLIENTS.get(spec.provider, OpenAIClient)(endpoint, FAST)
            tools = Toolbox((), None, more=(Camera(*pictures),))
            talking = client if record is None else record(client, spec)
            brief = new_answer_task().brief(None)
            try:
                return (
                    await harness_kind(harness)
                    .build(agent, None)
                    .run(Assignment(brief, agent, tools, talking, journal))
                )
            finally:
                await client.close()

        return asyncio.run(work()), journal

    return run


def pictures_sent(body: object) -> list[bytes]:
    found = []
    for text in _SENT.findall(json.dumps(body)):
        try:
            data = base64.b64decode(text, validate=True)
        except ValueError:
            continue
        found += [data] if data.startswith(b"\x89PNG") else []
    return found


def looked(transcript: Transcript) -> ToolEvent:
    return next(event for event in transcript.tool_events if event.call.tool == "look")


def looks_then_answers(wire) -> None:
    wire.then(wire.says("", ("look", {})), wire.says("", ("finish", {"answer": "5"})))


@pytest.mark.parametrize("wire_format", MODELS)
def test_a_model_that_sees_is_shown_the_pictures(wire, play, wire_format):
    looks_then_answers(wire)

    transcript, _ = play(MODELS[wire_format], picture(1), picture(2))

    assert wire.seen[-1].dialect == wire_format
    assert pictures_sent(wire.seen[-1].body) == [b"\x89PNG 1", b"\x89PNG 2"]
    event = looked(transcript)
    assert event.text == (
        "[Shown with this result, in this order: slide 1 (image/png, 40 x 30 pixels); "
        "slide 2 (image/png, 40 x 30 pixels)]\nIt was looked at."
    )
    assert json.dumps(event.text)[1:-1] in json.dumps(wire.seen[-1].body)
    shown = event.pictures[0]
    assert (shown.name, shown.was_shown, shown.size_bytes) == ("slide 1", True, 6)
    assert shown.sha256 == hashlib.sha256(b"\x89PNG 1").hexdigest()


@pytest.mark.parametrize("wire_format", MODELS)
def test_a_model_that_does_not_see_reads_a_description(wire, play, wire_format):
    looks_then_answers(wire)

    transcript, _ = play(MODELS[wire_format], picture(1), native_inputs=())

    assert pictures_sent(wire.seen[-1].body) == []
    event = looked(transcript)
    assert event.text == (
        "[A picture that you cannot see, because your model is given no pictures: "
        "slide 1 (image/png, 40 x 30 pixels), 6 bytes. The text on it: Point 1]\n"
        "It was looked at."
    )
    assert json.dumps(event.text)[1:-1] in json.dumps(wire.seen[-1].body)
    assert not event.pictures[0].was_shown


def test_a_model_that_writes_its_calls_as_text_is_shown_them_with_the_observation(wire, play):
    wire.then(
        wire.says("Thought: look\nAction: look\nAction Input: {}"), wire.says("Final Answer: 5")
    )

    transcript, _ = play(MODELS["openai"], picture(1), harness="react")

    last = wire.seen[-1].body["messages"][-1]
    assert last["role"] == "user"
    assert [part["type"] for part in last["content"]] == ["image_url", "text"]
    assert looked(transcript).pictures[0].was_shown


def test_a_provider_that_turns_pictures_down_is_asked_without_them(wire, play):
    wire.then(
        wire.says("", ("look", {})),
        wire.fails(400, "image_url is not supported"),
        wire.says("", ("look", {})),
        wire.says("", ("finish", {"answer": "5"})),
    )

    transcript, _ = play(MODELS["openai"], picture(1))

    sent = [len(pictures_sent(seen.body)) for seen in wire.seen]
    assert sent == [0, 1, 0, 0]
    assert "does not take the pictures" in json.dumps(wire.seen[2].body)
    first, second = (e for e in transcript.tool_events if e.call.tool == "look")
    assert [p.was_shown for p in (*first.pictures, *second.pictures)] == [False, False]
    assert second.text.startswith("[A picture that you cannot see")


def test_a_rejection_after_pictures_were_taken_has_another_cause(wire, play):
    wire.then(wire.says("", ("look", {})), wire.says("", ("look", {})))
    wire.respond = lambda seen: wire.fails(401)
    with pytest.raises(ModelRejected):
        play(MODELS["openai"], picture(1))


def test_a_recorded_conversation_with_pictures_is_played_back_without_paying(wire, play, store):
    def recorded(owner: str, *, asks: bool):
        def make(client, spec: ModelSpec) -> RecordedClient:
            log = CallLog(CallRecorder(store), Payer(CallPurpose.AGENT, owner))
            return RecordedClient(client if asks else None, spec, None, log, shares=True)

        return make

    looks_then_answers(wire)
    first, _ = play(MODELS["openai"], picture(1), record=recorded("a", asks=True))
    asked = len(wire.seen)
    again, _ = play(MODELS["openai"], picture(1), record=recorded("b", asks=False))

    assert len(wire.seen) == asked == 2
    assert again.final_answer == first.final_answer == "5"
    assert looked(again).pictures == looked(first).pictures


def test_a_flood_of_pictures_is_cut_with_a_notice():
    pictures = TrialPictures()
    flood = ToolResult(text="all", pictures=tuple(map(picture, range(MAX_OF_RESULT + 2))))

    cut = pictures.taken(flood, sees=True)

    assert len(cut.pictures) == MAX_OF_RESULT
    assert "[2 pictures of this result are left out: one result may show 8;" in cut.text
    assert cut.text.endswith("\nall")
    while MAX_OF_TRIAL - pictures._count >= MAX_OF_RESULT:
        pictures.taken(flood, sees=True)
    last = pictures.taken(flood, sees=False)
    assert len(last.pictures) == MAX_OF_TRIAL % MAX_OF_RESULT
    assert "your 100 pictures are used up" in last.text


def test_too_many_bytes_and_failed_calls_show_nothing():
    large = picture(1, data=bytes(3_000_000))
    together = TrialPictures().taken(ToolResult(text="", pictures=(large, large)), sees=True)
    assert len(together.pictures) == 1
    assert "have 4,000,000 bytes together" in together.text
    huge = picture(1, data=bytes(3_700_000))
    refused = TrialPictures().taken(ToolResult(text="", pictures=(huge,)), sees=True)
    assert refused.pictures == ()
    assert "slide 1 has 3,700,000 bytes" in refused.text
    failed = ToolResult(text="no", error=ToolErrorKind.REFUSED, pictures=(picture(1),))
    assert "1 picture of this result is left out: the call failed" in (
        TrialPictures().taken(failed, sees=True).text
    )


def test_the_same_picture_is_stored_once(tmp_path):
    pictures = TrialPictures()
    for _ in range(2):
        pictures.recorded(ToolResult(text="", pictures=(picture(1),)), shown=True)
    assert pictures.stored == ()

    artifacts = ArtifactStore(f"file://{tmp_path}")
    pictures.store(artifacts)

    (file,) = pictures.stored
    assert artifacts.read_bytes(file.sha256) == b"\x89PNG 1"
    assert [name for name, _ in artifacts.listed()] == [file.sha256]


def test_pictures_fill_the_context_and_leave_it_with_old_turns():
    from environments.ports import Message

    agent = AgentSpec.parse("function_calling:openai/gpt-5.2")
    media = as_media(ToolResult(text="", pictures=(picture(1),)), agent)
    assert media[0].most_tokens == 6_000
    context = Context((Message("user", "task"),))
    for number in (1, 2, 3):
        context.begin_turn(Message("assistant", f"look {number}"))
        context.add(Message("tool", "seen", call_id="c", media=media))
    assert context.chars > 3 * 4_500

    assert context.shorten() is not None

    shown = [bool(m.media) for m in context.messages if m.role == "tool"]
    assert shown == [False, True]
    assert "not shown any more" in context.messages[2].text
    assert context.hide_pictures()
    assert not context.shows_pictures
    assert context.chars < 1_000


def test_events_without_pictures_are_written_as_before_and_read_back(wire, play):
    looks_then_answers(wire)

    transcript, _ = play(MODELS["openai"])

    written = transcript.model_dump_json()
    assert "pictures" not in written
    assert Transcript.model_validate_json(written) == transcript
