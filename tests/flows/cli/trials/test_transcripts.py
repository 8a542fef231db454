"""`show --transcript` is prose: who said what, which call brought which result."""

from datetime import UTC, datetime

import pytest

from flows.cli.trials.transcripts import write_transcript
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import (
    Ending,
    MessageEvent,
    ModelEvent,
    Prediction,
    ResultPicture,
    ToolCall,
    ToolEvent,
    Transcript,
    Usage,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
READ = ToolCall(id="1", tool="read_file", arguments={"path": "input/a.txt", "lines": 3})
PROGRAM = ToolCall(id="2", tool="python_execute", arguments={"code": "a = 1\nprint(a)"})
BROKEN = ToolCall(id="3", tool="finish", arguments=None, raw="{not json")


def model(text: str = "", **fields: object) -> ModelEvent:
    return ModelEvent(
        text=text,
        model="gpt-x",
        usage=Usage(input_tokens=1200, output_tokens=34),
        started_at=NOW,
        seconds=2,
        **fields,
    )


def tool(call: ToolCall, text: str, **fields: object) -> ToolEvent:
    return ToolEvent(call=call, text=text, started_at=NOW, seconds=0.1, **fields)


@pytest.fixture
def written(capsys, monkeypatch):
    """Write a transcript of these events in a terminal of 80 columns; returns the lines."""
    monkeypatch.setenv("COLUMNS", "80")

    def write(*events, full: bool = False, **fields: object) -> list[str]:
        transcript = Transcript(events=events, final_answer="", ending=Ending.FINISHED, **fields)
        write_transcript(transcript, full=full)
        return capsys.readouterr().out.splitlines()

    return write


def test_turns_are_numbered_and_say_who_spoke(written):
    lines = written(
        MessageEvent(role="system", text="Work with tools."),
        MessageEvent(role="user", text="Sum it up."),
        model("I read it.", thinking="A file?", tool_calls=(READ,)),
        tool(READ, "five"),
        model("It says five."),
    )
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Transcript",
        "Instructions to the agent",
        "To the agent",
        "Turn 1: gpt-x (2.0 s, 1,200 tokens in, 34 out)",
        "Turn 2: gpt-x (2.0 s, 1,200 tokens in, 34 out)",
        "Ended: finished",
    ]
    told = "\n".join(lines)
    assert "It thought:\n    A file?\n  It said:\n    I read it." in told
    assert "Call of read_file\n    path: input/a.txt\n    lines: 3" in told
    assert "read_file answered after 0.1 s:\n    five" in told


def test_arguments_of_several_lines_keep_their_lines(written):
    told = "\n".join(written(tool(PROGRAM, "1")))
    assert "    code:\n      a = 1\n      print(a)" in told


def test_an_agent_without_a_model_has_a_turn_for_each_call(written):
    lines = written(tool(READ, "five"), tool(PROGRAM, "1"))
    assert sum(line.startswith("Turn ") for line in lines) == 2


def test_a_call_that_was_not_carried_out_and_one_that_failed_are_told(written):
    told = "\n".join(
        written(
            model(tool_calls=(READ, BROKEN)),
            tool(READ, "no such file", error=ToolErrorKind.REFUSED),
        )
    )
    assert "asked for a call that was not carried out:\n    Call of finish" in told
    assert "{not json" in told
    assert "read_file failed (refused)" in told


def test_long_results_are_cut_and_it_is_told_how_to_see_them(written):
    result = "\n".join(f"row {n}" for n in range(1000))
    cut, full = written(tool(READ, result)), written(tool(READ, result), full=True)
    assert len(cut) < 40
    assert any("more characters; --full shows them" in line for line in cut)
    assert not any("row 999" in line for line in cut)
    assert any("row 999" in line for line in full)


def test_no_line_is_wider_than_the_terminal(written):
    lines = written(model("word " * 300), tool(READ, "x" * 500), full=True)
    assert max(map(len, lines)) <= 80


def test_what_an_agent_wrote_neither_styles_nor_steers_the_terminal(written):
    told = "\n".join(written(model("\x1b[2Jgone [red]red[/red] \u202etxt")))
    assert "\x1b" not in told
    assert "[red]red[/red]" in told
    assert "⟨U+202E⟩" in told


def test_what_nobody_saw_is_not_taken_for_nothing(written):
    assert any("Nobody saw" in line for line in written(is_outcome_only=True))
    assert any("tools that it has of its own" in line for line in written(has_unseen_calls=True))


def test_predictions_are_told_with_what_was_wrong(written):
    told = "\n".join(
        written(
            predictions=(
                Prediction(call=READ),
                Prediction(error="unknown tool"),
                Prediction(answer="7"),
                Prediction(),
            )
        )
    )
    assert "1. call of read_file with" in told
    assert "2. could not be carried out: unknown tool" in told
    assert "3. answer: 7" in told
    assert "4. neither a call nor an answer" in told


def test_pictures_of_a_result_are_named(written):
    fields = {"name": "output/a.pptx, slide 2", "sha256": "b" * 64, "media_type": "image/png"}
    sizes = {"size_bytes": 9, "width": 1200, "height": 675}
    shown, described = (ResultPicture(**fields, **sizes, was_shown=w) for w in (True, False))
    text = " ".join(" ".join(written(tool(READ, "ok", pictures=(shown, described)))).split())
    named = "output/a.pptx, slide 2, image/png, 1200 x 675 pixels, sha256 bbbbbbbbbbbb]"
    assert f"[shown to the model: {named}" in text
    assert f"[described to the model: {named}" in text
