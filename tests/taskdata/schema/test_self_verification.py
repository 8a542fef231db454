"""Whether an agent looked at what it had made, told from its calls alone."""

from datetime import UTC, datetime

import pytest

from taskdata.schema.self_verification import SelfVerification, self_verification
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending, ResultPicture, ToolCall, ToolEvent, Transcript

DECK, PAGE, DATA = "output/deck.pptx", "output/index.html", "output/data.csv"
PICTURE = {
    "name": DECK,
    "sha256": "a" * 64,
    "media_type": "image/png",
    "size_bytes": 9,
    "width": 4,
    "height": 3,
}


def event(tool: str, *, files=(), text="ok", shown: bool | None = None, error=None, **arguments):
    pictures = () if shown is None else (ResultPicture(**PICTURE, was_shown=shown),)
    return ToolEvent(
        call=ToolCall(id="c", tool=tool, arguments=arguments),
        text=text,
        files=files,
        error=error,
        pictures=pictures,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        seconds=0.1,
    )


def level(*events: ToolEvent, delivered=(DECK,), **transcript: object):
    record = Transcript(events=events, final_answer="", ending=Ending.FINISHED, **transcript)
    return self_verification(record, delivered)


WRITE = event("PptxFileGenerator", files=(DECK,), path=DECK)
VIEW = event("view_file", shown=True, path=DECK)


def test_the_three_levels():
    assert level(WRITE) is SelfVerification.NONE
    assert level(WRITE, event("list_files", text="deck.pptx")) is SelfVerification.EXISTENCE
    assert level(WRITE, event("ReadPPTX", path=DECK)) is SelfVerification.EXISTENCE
    assert level(WRITE, VIEW) is SelfVerification.LOOKED


def test_a_look_before_the_last_change_is_none_at_the_final_file():
    assert level(WRITE, VIEW, WRITE) is SelfVerification.NONE
    assert level(WRITE, VIEW, WRITE, VIEW) is SelfVerification.LOOKED


def test_a_model_that_was_not_shown_the_picture_has_not_looked():
    assert level(WRITE, event("view_file", shown=False, path=DECK)) is SelfVerification.EXISTENCE


def test_a_failed_call_verifies_nothing():
    failed = event("view_file", error=ToolErrorKind.REFUSED, text="deck.pptx: no", path=DECK)
    assert level(WRITE, failed) is SelfVerification.NONE


def test_a_render_stands_for_the_file_that_it_was_made_from():
    export = event("export_slides", files=("output/s1.png",), source=DECK)
    look = event("read_media_file", shown=True, path="/workspace/output/s1.png")
    assert level(WRITE, export, look) is SelfVerification.LOOKED
    together = event("python_execute", files=(DECK, "output/s1.png"), code="...")
    assert level(together, look) is SelfVerification.LOOKED
    assert level(WRITE, look) is SelfVerification.NONE, "the picture is of something else"


def test_a_screenshot_is_of_the_page_that_was_opened_last():
    write = event("write_file", files=(PAGE,), path=PAGE)
    opened = event("browser_navigate", url="file:///workspace/output/index.html")
    screenshot = event("browser_take_screenshot", shown=True)
    assert level(write, opened, screenshot, delivered=[PAGE]) is SelfVerification.LOOKED
    elsewhere = event("browser_navigate", url="file:///workspace/input/other.html")
    found = level(write, opened, elsewhere, screenshot, delivered=[PAGE])
    assert found is SelfVerification.EXISTENCE


def test_a_tool_that_has_a_model_look_counts():
    asked = event("ImageDescription", path="output/chart.png")
    write = event("Plot", files=("output/chart.png",))
    assert level(write, asked, delivered=["output/chart.png"]) is SelfVerification.LOOKED


def test_a_name_inside_another_is_not_named():
    assert level(WRITE, event("read_file", path="input/old_deck.pptx")) is SelfVerification.NONE


def test_the_least_verified_file_counts_and_data_has_no_look():
    other = event("DocxFileGenerator", files=("output/memo.docx",), path="output/memo.docx")
    assert level(WRITE, other, VIEW, delivered=[DECK, DATA]) is SelfVerification.LOOKED
    found = level(WRITE, other, VIEW, delivered=[DECK, "output/memo.docx"])
    assert found is SelfVerification.NONE


@pytest.mark.parametrize("known", [{"is_outcome_only": True}, {"has_unseen_calls": True}])
def test_it_is_unknown_where_the_calls_are(known):
    assert level(WRITE, VIEW, **known) is None
    assert level(WRITE, VIEW, delivered=[DATA]) is None
