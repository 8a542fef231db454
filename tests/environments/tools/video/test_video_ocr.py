import re

import pytest

from environments.tools.images.boxes import Box
from environments.tools.video.video_ocr import overlap


def test_each_text_is_read_once_with_its_times(run, scene):
    head, *lines = run("VideoOCR", video=scene, interval=0.9, end_time=3).text.splitlines()
    assert head == "input/scene.mp4, 0.00 to 3.00 s: 4 frames, one every 0.9 s, 2 texts"
    first, second = (re.fullmatch(r"(.*?): \((.*)\) (.*)", line).groups() for line in lines)
    assert (first[0], first[2]) == ("0.00 to 1.80 s", "Opening hours")
    assert (second[0], second[2]) == ("at 2.70 s", "Monday 9 to 17")
    left, top, right, bottom = map(int, first[1].split(", "))
    assert left == pytest.approx(20, abs=6)
    assert right == pytest.approx(235, abs=12)
    assert 15 < top < bottom < 60


def test_a_restless_video_is_read_in_parts(run, scene, monkeypatch):
    monkeypatch.setattr("environments.tools.video.video_ocr._MAX_READ", 2)
    last = run("VideoOCR", video=scene, interval=0.2, start_time=0.5).text.splitlines()[-1]
    assert last == "(stopped after 2 different frames; go on with start_time=1.30)"


def test_too_many_frames_are_refused(refused, made):
    source = ("-f", "lavfi", "-i", "color=gray:size=32x32:rate=1:duration=100")
    text = refused("VideoOCR", video=made("long.mp4", *source), interval=0.1)
    assert "are 1000 frames: at most 300" in text


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (Box(0, 0, 10, 10), Box(0, 0, 10, 10), 1.0),
        (Box(0, 0, 10, 10), Box(5, 0, 15, 10), 1 / 3),
        (Box(0, 0, 10, 10), Box(10, 0, 20, 10), 0.0),
    ],
)
def test_boxes_overlap_by_a_share(one, other, share):
    assert overlap(one, other) == pytest.approx(share)
