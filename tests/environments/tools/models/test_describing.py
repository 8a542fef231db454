"""What a multimodal model is shown and asked, and what the agent gets."""

import subprocess
from pathlib import Path

import pytest
from imageio_ffmpeg import get_ffmpeg_exe

from environments.toolkit.services import ServiceLimits
from taskdata.errors import ModelRejected, ToolUnavailable
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Usage

DESCRIBE = ("ImageDescription", {"image": "input/photo.jpg"})


def test_a_picture_and_a_region_of_it_are_described(wire, in_trial, photo, shown, question):
    wire.then(wire.says("A red square.", input_tokens=1000, output_tokens=10), wire.says("red"))
    region = {"image": "input/photo.jpg", "bbox": "(500, 250, 700, 450)", "attribute": "color"}

    whole, part = in_trial(
        DESCRIBE, ("RegionAttributeDescription", region), files={"photo.jpg": photo}
    )

    assert (whole.error, whole.text) == (None, "A red square.")
    assert whole.usage == Usage(input_tokens=1000, output_tokens=10)
    assert whole.cost_usd == pytest.approx((1000 * 1.75 + 10 * 14.0) / 1e6)
    assert (part.error, part.text) == (None, "red")
    (sent,) = shown(wire.seen[0])
    assert sent.size[0] / sent.size[1] == pytest.approx(2, abs=0.01)
    assert sent.size[0] * sent.size[1] <= 1_160_000
    (cut,) = shown(wire.seen[1])
    assert cut.size == (200, 200)
    red, green, _ = cut.convert("RGB").getpixel((100, 100))
    assert red > 200 > 60 > green
    assert "color" in question(wire.seen[1])


def test_an_unknown_price_is_an_unknown_cost(wire, in_trial, photo):
    wire.then(wire.says("A square."))
    (result,) = in_trial(DESCRIBE, files={"photo.jpg": photo}, model="compatible/m")
    assert (result.text, result.cost_usd, result.usage.total) == ("A square.", None, 15)


def test_files_that_cannot_be_shown_cost_nothing(wire, in_trial, photo):
    outside = ("ImageDescription", {"image": "../../etc/passwd"})
    text = ("ImageDescription", {"image": "input/notes.txt"})
    empty = {"image": "input/photo.jpg", "bbox": "(9000, 0, 9001, 5)", "attribute": "color"}

    results = in_trial(
        ("ImageDescription", {"image": "input/gone.png"}),
        outside,
        text,
        ("RegionAttributeDescription", empty),
        ("ImageDescription", {"picture": "input/photo.jpg"}),
        files={"photo.jpg": photo, "notes.txt": b"hello"},
    )

    kinds = [ToolErrorKind.REFUSED] * 4 + [ToolErrorKind.BAD_ARGUMENTS]
    assert [result.error for result in results] == kinds
    assert "There is no file 'input/gone.png'" in results[0].text
    assert "outside the workspace" in results[1].text
    assert "is not an image" in results[2].text
    assert "holds nothing of the image" in results[3].text
    assert {result.cost_usd for result in results} == {0.0}
    assert wire.seen == []


def test_a_link_out_of_the_workspace_shows_nothing_of_the_host(wire, in_trial, tmp_path, photo):
    (tmp_path / "secret.jpg").write_bytes(photo)
    link = f"import os; os.symlink({str(tmp_path / 'secret.jpg')!r}, 'output/link.jpg')"
    fifo = "import os; os.mkfifo('output/pipe.jpg')"
    results = in_trial(
        ("python_execute", {"code": link}),
        ("ImageDescription", {"image": "output/link.jpg"}),
        ("python_execute", {"code": fifo}),
        ("ImageDescription", {"image": "output/pipe.jpg"}),
    )
    assert [result.error for result in results[1::2]] == [ToolErrorKind.REFUSED] * 2
    assert wire.seen == []


def test_a_model_that_is_out_of_reach_is_not_the_agents_fault(wire, in_trial, photo):
    wire.respond = lambda seen: wire.fails(503)
    with pytest.raises(ToolUnavailable, match="HTTP 503"):
        in_trial(DESCRIBE, files={"photo.jpg": photo})


def test_a_wrong_key_is_not_the_agents_fault(wire, in_trial, photo):
    wire.then(wire.fails(401))
    with pytest.raises(ModelRejected, match="API key"):
        in_trial(DESCRIBE, files={"photo.jpg": photo})


def test_a_refused_picture_and_an_empty_answer_are_observations(wire, in_trial, photo):
    wire.then(wire.fails(400, "no", code="content_policy_violation"), wire.says("  "))
    refused, silent = in_trial(DESCRIBE, DESCRIBE, files={"photo.jpg": photo})
    assert (refused.error, refused.cost_usd) == (ToolErrorKind.REFUSED, 0.0)
    assert "will not look at this" in refused.text
    assert silent.error is ToolErrorKind.REFUSED
    assert silent.cost_usd > 0


def test_a_trial_may_ask_so_often_and_no_more(wire, in_trial, photo):
    wire.respond = lambda seen: wire.says("A square.")
    limits = ServiceLimits(vision=2)
    results = in_trial(DESCRIBE, DESCRIBE, DESCRIBE, files={"photo.jpg": photo}, limits=limits)
    assert [result.error for result in results] == [None, None, ToolErrorKind.REFUSED]
    assert "may use vision 2 times" in results[2].text


@pytest.fixture
def clip(tmp_path: Path) -> bytes:
    """Four seconds of video: two of red, then two of blue."""
    target = tmp_path / "clip.mp4"
    colors = ("color=red:s=320x240:d=2:r=10", "color=blue:s=320x240:d=2:r=10")
    inputs = [part for color in colors for part in ("-f", "lavfi", "-i", color)]
    command = [get_ffmpeg_exe(), "-v", "error", *inputs, "-filter_complex", "concat", str(target)]
    subprocess.run(command, check=True)
    return target.read_bytes()


def test_a_video_is_shown_as_pictures_spread_over_it(wire, in_trial, clip, shown, question):
    wire.then(wire.says("Red, then blue."))

    (result,) = in_trial(("VideoDescription", {"video": "input/a.mp4"}), files={"a.mp4": clip})

    assert result.error is None, result.text
    assert result.text.startswith("Red, then blue.\n[from pictures at 0.2 s, ")
    frames = [frame.convert("RGB") for frame in shown(wire.seen[0])]
    assert [frame.size for frame in frames] == [(320, 240)] * 8
    seen = ["red" if frame.getpixel((5, 5))[0] > 128 else "blue" for frame in frames]
    assert seen == ["red"] * 4 + ["blue"] * 4
    assert "8 pictures of a video of 4.0 s" in question(wire.seen[0])


def test_what_is_no_video_is_refused(wire, in_trial, photo):
    (result,) = in_trial(("VideoDescription", {"video": "input/a.mp4"}), files={"a.mp4": b"text"})
    assert result.error is ToolErrorKind.REFUSED
    assert wire.seen == []
