"""Counts and boxes: strictly read, never invented."""

import json

import pytest

from environments.tools.models.media_worker import Shown, scaled_box
from taskdata.schema.tool import ToolErrorKind

COUNT = ("CountGivenObject", {"image": "input/photo.jpg", "text": "red squares"})
FIND = ("TextToBbox", {"image": "input/photo.jpg", "text": "the red square"})


def boxes(*found: tuple) -> str:
    return json.dumps(
        {"boxes": [dict(zip(("x1", "y1", "x2", "y2"), b, strict=True)) for b in found]}
    )


def test_a_count_is_a_number_in_digits(wire, in_trial, photo, shown, question):
    wire.then(wire.says('{"count": 3}'), wire.says('```json\n{"count": 0}\n```'))
    part = ("CountGivenObject", {**COUNT[1], "bbox": "(0, 0, 400, 300)"})

    whole, region = in_trial(COUNT, part, files={"photo.jpg": photo})

    assert [(r.error, r.text) for r in (whole, region)] == [(None, "3"), (None, "0")]
    assert shown(wire.seen[1])[0].size == (400, 300)
    assert "red squares" in question(wire.seen[0])
    assert wire.seen[0].body["response_format"]["json_schema"]["schema"]["required"] == ["count"]


def test_a_count_that_cannot_be_read_is_asked_for_again(wire, in_trial, photo, question):
    unreadable = ['{"count": 3.5}', '{"count": "3"}', '{"count": -1}', "three", '{"count": true}']
    for answer in unreadable:
        wire.then(wire.says(answer), wire.says('{"count": 4}'))
    results = in_trial(*[COUNT] * len(unreadable), files={"photo.jpg": photo})
    assert [(r.error, r.text, r.usage.total) for r in results] == [(None, "4", 30)] * 5
    assert question(wire.seen[0]) != question(wire.seen[1])


def test_what_never_fits_is_an_error_and_no_number(wire, in_trial, photo):
    wire.respond = lambda seen: wire.says("I count 3 or 4.")
    (result,) = in_trial(COUNT, files={"photo.jpg": photo})
    assert result.error is ToolErrorKind.REFUSED
    assert "no usable answer" in result.text
    assert "3" not in result.text
    assert len(wire.seen) == 2
    assert result.cost_usd > 0


def test_a_box_is_in_pixels_of_the_file(wire, in_trial, photo, shown, question):
    def answer(seen):
        (picture,) = shown(seen)
        scale = picture.width / 2000
        assert f"{picture.width} pixels wide and {picture.height} high" in question(seen)
        sides = (500 * scale, 250 * scale, 700 * scale, 450 * scale)
        return wire.says(boxes(tuple(round(side) for side in sides), (0, 0, 5, 5)))

    wire.respond = answer
    every = ("TextToBbox", {**FIND[1], "top1": False})

    best, all_ = in_trial(FIND, every, files={"photo.jpg": photo})

    assert best.error is None, best.text
    found = [int(number) for number in best.text.strip("()").split(", ")]
    assert found == pytest.approx([500, 250, 700, 450], abs=2)
    assert all_.text.splitlines()[0] == best.text
    assert len(all_.text.splitlines()) == 2


def test_a_box_that_is_none_is_not_passed_on(wire, in_trial, photo):
    outside = [(10, 10, 99_999, 20), (-5, 10, 20, 20), (30, 10, 20, 20)]
    wire.then(*(wire.says(boxes(box)) for box in outside), wire.says(boxes()))
    results = in_trial(*[FIND] * 4, files={"photo.jpg": photo})
    assert [result.error for result in results] == [ToolErrorKind.REFUSED] * 4
    assert all("gave a box outside the image" in result.text for result in results[:3])
    assert "'the red square' was not found" in results[3].text


def test_boxes_are_scaled_to_the_file():
    shown = Shown(
        media_type="image/png", data="", width=300, height=100, sent_width=100, sent_height=100
    )
    assert scaled_box((10, 10, 100, 100), shown) == (30, 10, 300, 100)
