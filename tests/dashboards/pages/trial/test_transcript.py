from datetime import UTC, datetime

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.transcript import entries
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import (
    Ending,
    MessageEvent,
    ModelEvent,
    ResultPicture,
    ShownFile,
    ToolCall,
    ToolEvent,
    Transcript,
    Usage,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def transcript(*events) -> Transcript:
    return Transcript(events=events, final_answer="", ending=Ending.FINISHED)


def model(text: str = "", calls: tuple[ToolCall, ...] = (), **fields) -> ModelEvent:
    return ModelEvent(
        text=text, tool_calls=calls, model="small-1", started_at=NOON, seconds=2.5, **fields
    )


def tool(call: ToolCall, text: str = "ok", **fields) -> ToolEvent:
    return ToolEvent(call=call, text=text, started_at=NOON, seconds=0.2, **fields)


def test_a_model_call_shows_its_text_and_what_it_used():
    usage = Usage(input_tokens=1200, output_tokens=34, cached_input_tokens=1000)
    event = model("I will look.", usage=usage, cost_usd=0.5, stop_reason="end_turn")
    (entry,) = entries(transcript(event), CAPS[0])
    assert (entry["who"], entry["title"]) == ("model", "small-1")
    assert entry["facts"] == (
        "1,200 tokens in, 34 out · 2.5 s · 1,000 cached · $0.50 · stop: end_turn"
    )
    assert entry["parts"] == [["", "I will look."]]


def test_what_a_model_thought_stands_beside_what_it_said():
    event = model("I will look.", thinking="Hm. " * 10_000)
    (entry,) = entries(transcript(event), CAPS[0])
    assert entry["thinking"] == [("Hm. " * 10_000)[: CAPS[0].text], 40_000 - CAPS[0].text]
    assert entry["parts"] == [["", "I will look."]]
    (hidden,) = entries(transcript(model("I will look.")), CAPS[0])
    assert "thinking" not in hidden


def test_files_that_went_to_the_model_itself_are_named_with_their_types():
    files = [
        ShownFile(name=f"input/{i}.png", sha256="a" * 64, media_type="image/png") for i in range(6)
    ]
    event = MessageEvent(role="user", text="Look.", shown=tuple(files))
    (entry,) = entries(transcript(event), CAPS[-1])
    shown = [(f["name"], f["type"], f["save_as"]) for f in entry["files"]]
    assert shown == [(f"input/{i}.png", "image/png", f"{i}.png") for i in range(4)]
    assert entry["more_files"] == 2


def test_the_turns_of_a_simulated_user_are_told_apart_with_what_they_cost():
    made = {"model": "gpt-5-mini", "cost_usd": 0.02, "started_at": "2026-03-01T00:00:00Z"}
    turn = MessageEvent(
        role="user", text="<b>Done.</b>", simulated={**made, "seconds": 1.5, "ends": True}
    )
    (entry,) = entries(transcript(turn), CAPS[0])
    assert (entry["who"], entry["title"]) == ("simulated_user", "gpt-5-mini")
    assert entry["facts"] == "1.5 s · $0.0200, not in the agent's cost · ends the talk"
    assert entry["parts"] == [["", "<b>Done.</b>"]]


def test_the_last_call_that_wrote_a_deliverable_leads_to_it():
    call = ToolCall(id="1", tool="Plot", arguments={})
    first = tool(call, files=("output/a.png", "output/notes.txt"))
    last = tool(call, files=("output/a.png", "scratch/b.png"))
    found = entries(transcript(first, last), CAPS[0], ["b.png", "a.png", "notes.txt"])
    assert [entry.get("wrote") for entry in found] == [[2], [1]]


def test_arguments_stand_with_the_result_they_led_to():
    call = ToolCall(id="1", tool="read_file", arguments={"path": "input/a.csv"})
    asked, done = entries(transcript(model(calls=(call,)), tool(call, "a,b")), CAPS[0])
    assert asked["parts"] == []
    assert done["parts"] == [["arguments", '{\n  "path": "input/a.csv"\n}'], ["result", "a,b"]]


def test_a_call_that_came_to_nothing_shows_where_it_was_made():
    call = ToolCall(id="9", tool="read_file", arguments={"path": "x"})
    (entry,) = entries(transcript(model(calls=(call,))), CAPS[0])
    assert entry["parts"] == [["call read_file", '{\n  "path": "x"\n}']]


def test_a_program_is_shown_in_lines_and_unreadable_arguments_as_written():
    program = ToolCall(
        id="1", tool="python_execute", arguments={"code": "x = 1\nprint(x)", "timeout_seconds": 5}
    )
    garbage = ToolCall(id="2", tool="python_execute", arguments=None, raw="{code: ")
    first, second = entries(
        transcript(tool(program), tool(garbage, error=ToolErrorKind.BAD_ARGUMENTS)), CAPS[0]
    )
    assert first["parts"][0][1] == '{\n  "timeout_seconds": 5\n}\n\ncode:\nx = 1\nprint(x)'
    assert second["parts"][0][1] == "{code: "
    assert second["error"] == "bad arguments"


def test_of_a_long_transcript_the_beginning_and_the_end_are_shown():
    events = [MessageEvent(role="user", text=str(i)) for i in range(1_000)]
    found = entries(transcript(*events), CAPS[-1])
    texts = [entry["parts"][0][1] for entry in found if entry["who"] == "user"]
    assert texts == ["0", "1", "2", "3", "996", "997", "998", "999"]
    assert found[4] == {"who": "gap", "title": "992 events not shown", "turn": None}


def test_turns_are_numbered_by_the_replies_of_the_model():
    call = ToolCall(id="1", tool="read_file", arguments={})
    events = (MessageEvent(role="user", text="go"), model(calls=(call,)), tool(call), model("done"))
    found = entries(transcript(*events), CAPS[0])
    assert [entry["turn"] for entry in found] == [0, 1, 1, 2]


def test_turns_after_a_gap_keep_their_numbers():
    found = entries(transcript(*(model(str(i)) for i in range(1_000))), CAPS[-1])
    assert [entry["turn"] for entry in found] == [1, 2, 3, 4, None, 997, 998, 999, 1000]


def picture(name: str = "output/a.pptx, slide 2", *, was_shown: bool = True) -> ResultPicture:
    return ResultPicture(
        name=name,
        sha256="b" * 64,
        media_type="image/jpeg",
        size_bytes=900,
        width=1200,
        height=675,
        was_shown=was_shown,
    )


def test_pictures_of_a_result_are_named_and_found_by_their_hash():
    call = ToolCall(id="1", tool="view_file", arguments={})
    (entry,) = entries(transcript(tool(call, pictures=(picture(),))), CAPS[0])
    assert entry["files"] == [
        {
            "name": "output/a.pptx, slide 2",
            "type": "1,200 × 675 pixels",
            "sha256": "b" * 64,
            "size": 900,
            "save_as": "a.pptx, slide 2.jpeg",
            "recording": None,
        }
    ]
    assert (entry["more_files"], entry["unseen"]) == (0, False)


def test_what_the_model_was_not_shown_is_told_apart_and_many_pictures_are_cut():
    call = ToolCall(id="1", tool="view_file", arguments={})
    many = tuple(picture(f"<img src={n}>", was_shown=False) for n in range(6))
    (entry,) = entries(transcript(tool(call, pictures=many)), CAPS[-1])
    assert (len(entry["files"]), entry["more_files"], entry["unseen"]) == (4, 2, True)
    assert "<" not in entry["files"][0]["save_as"]
