import numpy as np
import pytest

from environments.tools.media.parts import Part
from environments.tools.media.tracks import open_video
from environments.tools.video.frames import sampled_frames
from taskdata.schema.tool import ToolErrorKind


@pytest.fixture
def grey(made) -> str:
    source = ("-f", "lavfi", "-i", "color=gray:size=480x270:rate=10:duration=3")
    return made("grey.mp4", *source, "-f", "lavfi", "-i", "sine=duration=3")


def test_captions_can_be_read_where_and_when_they_were_asked(written, run, grey):
    captions = [
        {"text": "Good morning"},
        {"text": "Second part", "start_time": 1, "end_time": 2, "position": "top"},
    ]
    result = written(
        "AddTextVideoTool", video=grey, captions=captions, color="yellow", path="output/c.mp4"
    )
    assert result.text.splitlines() == [
        "Wrote output/c.mp4: input/grey.mp4 with 2 captions.",
        "0.00 to 3.00 s, bottom: 'Good morning'",
        "1.00 to 2.00 s, top: 'Second part'",
    ]
    lines = run("VideoOCR", video="output/c.mp4", interval=0.5).text.splitlines()
    seen = {line.rsplit(") ", 1)[1]: line for line in lines[1:]}
    assert seen["Good morning"].startswith("0.00 to 2.50 s")
    assert seen["Second part"].startswith("1.00 to 1.50 s")
    assert top_of(seen["Second part"]) < 60 < 200 < top_of(seen["Good morning"])


def top_of(line: str) -> int:
    return int(line.split("(")[1].split(", ")[1])


def test_length_size_and_sound_stay(written, workspace, grey):
    written("AddTextVideoTool", video=grey, captions=[{"text": "a"}], path="output/c.webm")
    media, track = open_video(workspace, "output/c.webm")
    assert (track.width, track.height) == (480, 270)
    assert track.seconds == pytest.approx(3, abs=0.05)
    assert media.audio is not None


def test_a_long_caption_is_broken_into_lines_inside_the_frame(written, workspace, grey):
    text = "It goes on and on " * 12
    written("AddTextVideoTool", video=grey, captions=[{"text": text}], path="output/c.mp4")
    media, track = open_video(workspace, "output/c.mp4")
    first = next(sampled_frames(media, track, Part(0, 1), 1.0, 480)).pixels.astype(int)
    changed = np.abs(first - 128).max(axis=2) > 40
    assert changed[:, :5].sum() == changed[:, -5:].sum() == changed[-3:].sum() == 0
    assert changed.any(axis=1).sum() > 40


def test_letters_never_reach_the_filters(written, run, grey):
    text = "50 %: 'quoted', [v0]; \\n {a}"
    written("AddTextVideoTool", video=grey, captions=[{"text": text}], path="output/c.mp4")
    assert "50 %" in run("VideoOCR", video="output/c.mp4", interval=3).text


def test_captions_that_cannot_be_shown_are_refused(refused, run, grey):
    def refusal(**caption):
        return refused("AddTextVideoTool", video=grey, captions=[caption])

    assert "lasts 3.00 s" in refusal(text="late", start_time=5)
    assert "blank" in refusal(text=" \n ")
    assert "does not fit" in refusal(text="w" * 400)
    colored = refused("AddTextVideoTool", video=grey, captions=[{"text": "a"}], color="c4")
    assert "'c4' is not a color" in colored
    wrong = run("AddTextVideoTool", video=grey, captions=[{"text": "a", "position": "left"}])
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS
    assert "captions[0].position" in wrong.text
