"""Videos in numbers and frames; what is no video, or too much of one, is unreadable."""

import io
import subprocess

import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from environments.renderers.limits import Unreadable
from environments.renderers.media import video
from environments.renderers.media.video import frames, preview_video, read_video


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """Make a video of a second of red and one of blue, in the format of an ending."""
    folder = tmp_path_factory.mktemp("clips")

    def make(name: str, *options: str):
        target = folder / name
        if not target.exists():
            colours = (f"color={colour}:size=64x48:rate=5:duration=1" for colour in ("red", "blue"))
            inputs = [part for colour in colours for part in ("-f", "lavfi", "-i", colour)]
            command = [get_ffmpeg_exe(), "-v", "error", *inputs, *options]
            joined = ("-filter_complex", "[0][1]concat=n=2", "-pix_fmt", "yuv420p")
            subprocess.run([*command, *joined, str(target)], check=True)
        return target

    return make


@pytest.mark.parametrize("name", ["a.mp4", "a.webm"])
def test_a_video_in_numbers(clip, name):
    view = read_video(clip(name))
    assert (view.width, view.height, view.has_sound) == (64, 48, False)
    assert view.seconds == pytest.approx(2, abs=0.3)
    assert view.frames_per_second == pytest.approx(5, abs=1)
    assert Image.open(io.BytesIO(preview_video(clip(name)))).size == (64, 48)


def test_frames_are_of_moments_at_equal_distances(clip):
    first, last = (image.getpixel((5, 5)) for image in frames(clip("a.mp4"), 2))
    assert first[0] > 200 > 60 > first[2]
    assert last[2] > 200 > 60 > last[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.mp4", b""),
        ("a.mp4", b"\0\0\0\x20ftypisom and nothing else"),
        ("a.mp4", b"#EXTM3U\nfile:///etc/passwd\n"),
        ("a.webm", b"\x1aE\xdf\xa3" + b"\xff" * 200),
        ("a.webm", b"RIFF....AVI LIST"),
    ],
)
def test_what_is_no_video_is_unreadable(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unreadable):
        read_video(tmp_path / name)


def test_a_video_by_another_name_is_unreadable(clip, tmp_path):
    (tmp_path / "a.webm").write_bytes(clip("a.mp4").read_bytes())
    with pytest.raises(Unreadable, match="not that of a WEBM"):
        read_video(tmp_path / "a.webm")


def test_a_video_that_is_too_long_is_unreadable(clip, monkeypatch):
    monkeypatch.setattr(video, "MAX_VIDEO_SECONDS", 1)
    with pytest.raises(Unreadable, match="at most 1 are looked at"):
        read_video(clip("a.mp4"))
