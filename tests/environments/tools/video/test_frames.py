import numpy as np
import pytest

from environments.tools.media.parts import Part
from environments.tools.media.tracks import open_video
from environments.tools.video.frames import frame_at_start, refuse_long, sampled_frames
from taskdata.errors import ToolRefused

GREYS = (
    *("-f", "lavfi", "-i", "color=black:size=64x48:rate=10:duration=4"),
    *("-vf", "geq=lum='20*floor(T)+40':cb=128:cr=128", "-pix_fmt", "yuv420p"),
)


def grey_of_second(pixels: np.ndarray) -> int:
    return round((float(pixels.mean()) - 28) / 23.3)


def test_frames_are_those_shown_at_their_times(workspace, made):
    media, track = open_video(workspace, made("a.mp4", *GREYS))
    part = Part(0.55, 4.0)
    found = list(sampled_frames(media, track, part, 0.5, 1_000))
    assert [frame.time for frame in found] == pytest.approx(np.arange(0.55, 4.0, 0.5))
    assert [grey_of_second(frame.pixels) for frame in found] == [int(f.time) for f in found]


def test_large_frames_are_shrunk_in_proportion(workspace, made):
    source = ("-f", "lavfi", "-i", "testsrc=size=640x240:rate=5:duration=1")
    media, track = open_video(workspace, made("a.webm", *source))
    first = next(sampled_frames(media, track, Part(0, 1), 0.2, 320))
    assert first.pixels.shape == (120, 320, 3)


def test_a_turned_video_is_upright(workspace, made):
    plain = made("plain.mp4", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=5:duration=1")
    turned = ("-display_rotation", "90", "-i", str(workspace / plain), "-c", "copy")
    media, track = open_video(workspace, made("turned.mp4", *turned))
    assert (track.width, track.height) == (320, 240)
    assert frame_at_start(media).pixels.shape == (320, 240, 3)


def test_what_takes_too_long_is_refused_before_it_is_decoded(workspace, made):
    source = ("-f", "lavfi", "-i", "color=gray:size=1920x1080:rate=30:duration=0.5")
    media, track = open_video(workspace, made("a.mp4", *source, "-preset", "ultrafast"))
    refuse_long(media, track, Part(0, 0.5))
    with pytest.raises(ToolRefused, match=r"1920 x 1080 pixels at 30 frames a second\): at most"):
        refuse_long(media, track, Part(0, 3_600))


def test_pictures_that_cannot_be_decoded_are_refused(workspace, made):
    path = made("a.mp4", *GREYS)
    data = bytearray((workspace / path).read_bytes())
    begin = data.index(b"mdat") + 4
    end = begin - 8 + int.from_bytes(data[begin - 8 : begin - 4], "big")
    data[begin:end] = bytes(end - begin)
    (workspace / path).write_bytes(data)
    with pytest.raises(ToolRefused, match=r"^input/a\.mp4 "):
        frame_at_start(open_video(workspace, path)[0])
