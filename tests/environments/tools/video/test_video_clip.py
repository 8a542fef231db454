import pytest

from environments.tools.media.tracks import open_video
from environments.tools.video.frames import frame_at_start


@pytest.mark.parametrize("ending", ["mp4", "webm", "mov", "mkv"])
def test_the_clip_has_the_asked_part_with_its_sound(written, workspace, scene, ending):
    path = f"output/c.{ending}"
    result = written("VideoClip", video=scene, start_time=2, end_time="0:03.5", path=path)
    assert result.text == (
        f"Wrote {path}: 1.50 s, from 2.00 to 3.50 s of the 6.00 s of input/scene.mp4, "
        "480 x 270 pixels, 10.0 frames per second, with sound."
    )
    media, _ = open_video(workspace, path)
    assert media.audio is not None
    assert media.audio.seconds == pytest.approx(1.5, abs=0.1)
    # The square is 100 pixels from where it began one second before.
    red, green, _ = frame_at_start(media).pixels[205].astype(int).T
    columns = (red - green > 100).nonzero()[0]
    assert columns.min() == pytest.approx(120, abs=3)


def test_odd_sides_lose_a_row(run, made):
    path = made("odd.webm", "-f", "lavfi", "-i", "testsrc=size=161x91:rate=5:duration=1")
    text = run("VideoClip", video=path, path="output/c.mp4").text
    assert "160 x 90 pixels" in text
    assert text.endswith("without sound.")


def test_what_cannot_be_cut_is_refused(refused, workspace, scene):
    assert "lasts 6.00 s" in refused("VideoClip", video=scene, start_time=10)
    assert ".mp4 or .webm" in refused("VideoClip", video=scene, path="output/c.gif")
    (workspace / "input/b.mp4").write_bytes((workspace / scene).read_bytes()[:5_000])
    assert "cannot be read" in refused("VideoClip", video="input/b.mp4")
    assert list((workspace / "output").iterdir()) == []
