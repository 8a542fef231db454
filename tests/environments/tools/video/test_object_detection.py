import re

import numpy as np
import pytest
from PIL import Image


def test_what_moves_is_found_with_its_way(run, scene):
    text = run("VideoObjectDetection", video=scene, objects=["Moving objects"]).text
    found = re.search(
        r"moving object 1: (\S+) to (\S+) s, from \((\d+), (\d+).*\) to \((\d+), .*\), goes right",
        text,
    )
    assert "moving object: 1 found" in text
    assert found is not None
    first, last, left, top, last_left = map(float, found.groups())
    assert (first, last) == pytest.approx((1.0, 3.9), abs=0.15)
    assert (left, top, last_left) == pytest.approx((20, 180, 310), abs=8)
    assert "QR" not in text


def test_qr_codes_are_read(run, scene):
    text = run("VideoObjectDetection", video=scene, objects=["QR code"]).text
    line = text.splitlines()[-1]
    assert line.startswith("QR code: 3.00 to 5.50 s, (34")
    assert line.endswith("says 'https://example.org/night'")


def test_other_classes_are_refused_with_those_it_knows(refused, scene):
    text = refused("VideoObjectDetection", video=scene, objects=["QR code", "Person"])
    assert text.startswith("'Person' cannot be detected: without a trained model")
    assert "moving object" in text
    assert "QR code" in text


def test_a_moving_camera_is_told_from_a_still_one(run, workspace, made):
    cells = np.random.default_rng(5).integers(0, 255, (15, 60, 3), dtype=np.uint8)
    Image.fromarray(cells.repeat(8, axis=0).repeat(8, axis=1)).save(workspace / "input/wall.png")
    wall = ("-loop", "1", "-framerate", "10", "-i", str(workspace / "input/wall.png"), "-t", "3")
    panned = made("pan.mp4", *wall, "-vf", "crop=160:120:x=80*t:y=0", "-pix_fmt", "yuv420p")
    assert "the camera may move" in run("VideoObjectDetection", video=panned).text
    still = made("still.mp4", *wall, "-vf", "crop=160:120:x=0:y=0", "-pix_fmt", "yuv420p")
    assert "moving object: 0 found" in run("VideoObjectDetection", video=still).text
    short = run("VideoObjectDetection", video=still, end_time=0.2).text
    assert "cannot be told from 2 frames" in short


def test_videos_are_cut_lettered_and_read_in_the_sandbox(in_sandbox, scene_file):
    captions = [{"text": "Night shift", "position": "middle"}]
    caption = {"video": "output/c.mp4", "captions": captions, "path": "output/d.mp4"}
    calls = (
        ("VideoClip", {"video": "input/a.mp4", "end_time": 1.5, "path": "output/c.mp4"}),
        ("AddTextVideoTool", caption),
        ("VideoOCR", {"video": "output/d.mp4", "interval": 1.4}),
        ("VideoObjectDetection", {"video": "input/a.mp4"}),
    )
    cut, lettered, read, found = in_sandbox(*calls, files={"a.mp4": scene_file.read_bytes()})
    assert cut.files == ("output/c.mp4",), cut.text
    assert lettered.files == ("output/d.mp4",), lettered.text
    assert "Night shift" in read.text
    assert "moving object: 1 found" in found.text
