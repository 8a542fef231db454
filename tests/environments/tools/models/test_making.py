"""Pictures and clips that a model makes end up in the workspace, decoded and checked."""

import base64
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from taskdata.errors import ToolUnavailable
from taskdata.schema.tool import ToolErrorKind


def picture(data: bytes | None = None) -> dict:
    if data is None:
        target = BytesIO()
        Image.new("RGB", (64, 48), "navy").save(target, format="WEBP")
        data = target.getvalue()
    return {"data": [{"b64_json": base64.b64encode(data).decode()}]}


def test_a_picture_is_drawn_and_written(wire, in_trial, output):
    wire.respond = lambda seen: wire.answers(picture())
    words = "lighthouse, storm/night"

    results = in_trial(
        ("TextToImage", {"keywords": words}),
        ("TextToImage", {"keywords": words}),
        ("TextToImage", {"keywords": words, "path": "output/art/cover.jpg"}),
        ("list_files", {"path": "output"}),
    )

    assert [r.error for r in results] == [None] * 4, results
    assert results[0].text == "Wrote output/lighthouse_storm_night.png: 64 x 48 pixels."
    assert results[0].files == ("output/lighthouse_storm_night.png",)
    assert results[1].files == ("output/lighthouse_storm_night_2.png",)
    assert wire.seen[0].body["prompt"] == words
    assert Image.open(output / "lighthouse_storm_night.png").format == "PNG"
    assert Image.open(output / "art" / "cover.jpg").format == "JPEG"
    assert len(results[3].text.splitlines()) == 3
    assert results[0].cost_usd is None


def test_a_place_that_cannot_be_written_is_refused_before_it_costs(wire, in_trial):
    places = ("input/a.png", "output/a.gif", "/etc/a.png", "a.png")
    results = in_trial(*(("TextToImage", {"keywords": "boat", "path": p}) for p in places))
    assert [(r.error, r.cost_usd) for r in results] == [(ToolErrorKind.REFUSED, 0.0)] * 4
    assert all("give a path below output/" in result.text for result in results)
    assert wire.seen == []


def test_a_place_that_leads_out_is_refused_inside(wire, in_trial, output):
    wire.respond = lambda seen: wire.answers(picture())
    (result,) = in_trial(("TextToImage", {"keywords": "boat", "path": "output/../input/a.png"}))
    assert result.error is ToolErrorKind.REFUSED
    assert list(output.iterdir()) == []


def test_what_is_no_picture_is_not_written(wire, in_trial, output):
    wire.then(wire.answers(picture(b"GIF89a, but not really")))
    (result,) = in_trial(("TextToImage", {"keywords": "boat"}))
    assert result.error is ToolErrorKind.REFUSED
    assert result.text == "What the model made is no picture that can be read."
    assert list(output.iterdir()) == []


def test_a_refused_prompt_is_an_observation_and_an_outage_is_not(wire, in_trial):
    wire.then(wire.fails(400, "no", code="content_policy_violation"))
    wire.respond = lambda seen: wire.fails(500)
    call = ("TextToImage", {"keywords": "boat"})
    with pytest.raises(ToolUnavailable):
        in_trial(call, call)
    assert len(wire.seen) == 3


def test_a_clip_is_filmed_and_written(wire, in_trial, output, tmp_path: Path):
    made = tmp_path / "made.mp4"
    source = ("-f", "lavfi", "-i", "color=red:s=64x48:d=1:r=10")
    subprocess.run([get_ffmpeg_exe(), "-v", "error", *source, str(made)], check=True)
    job = {"id": "j1", "model": "wan"}
    wire.then(
        wire.answers(job | {"status": "queued"}),
        wire.answers(job | {"status": "completed"}),
        wire.sends(made.read_bytes(), "video/mp4"),
    )

    (result,) = in_trial(("TextToVideoTool", {"prompt": "a red flag"}))

    assert result.error is None, result.text
    assert result.text == "Wrote output/a_red_flag.mp4: 64 x 48 pixels, 1.0 s."
    assert (output / "a_red_flag.mp4").read_bytes() == made.read_bytes()
