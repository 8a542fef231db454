"""Moving objects before a still camera: changed regions are compared to the background.

The background is the median over the whole time, so no initial still time is needed, and an object
that stays in one place for most of the time belongs to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from environments.tools.images.boxes import Box
from environments.tools.video.frames import Frame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_BACKGROUND_FRAMES = 41
_LEAST_DIFFERENCE = 25
_NOISE_TIMES = 6.0
_JOINED_SHARE = 1 / 60
_LEAST_AREA_SHARE = 1 / 1_000
_UNSTILL_SHARE = 0.4
_RESTLESS = 10.0
_MAX_BLOBS = 30
_REACH = 1.5
_MISSED_FRAMES = 2
_LEAST_FRAMES = 3
_LEAST_WAY = 0.25


@dataclass
class Moving:
    """A moving object."""

    times: list[float]
    boxes: list[Box]

    @property
    def way(self) -> tuple[float, float]:
        """Movement of its centre in x and y, in pixels."""
        (x0, y0), (x1, y1) = _middle(self.boxes[0]), _middle(self.boxes[-1])
        return x1 - x0, y1 - y0


def moving_objects(frames: Sequence[Frame]) -> list[Moving] | None:
    """Return the moving objects in `frames`, by time; None if most of the picture changes."""
    background, noise = _background(frames)
    if noise > _RESTLESS:
        return None
    followed: list[Moving] = []
    unstill = 0
    for number, frame in enumerate(frames):
        mask = _changed(frame.pixels, background, noise)
        if mask.mean() > _UNSTILL_SHARE:
            unstill += 1
            continue
        oldest = frames[max(0, number - 1 - _MISSED_FRAMES)].time
        _follow(followed, list(_blobs(mask)), frame.time, oldest)
    if unstill > len(frames) / 2:
        return None
    return [each for each in followed if len(each.times) >= _LEAST_FRAMES and _goes(each)]


def _background(frames: Sequence[Frame]) -> "tuple[Pixels, float]":
    """Return the median picture and the usual deviation of pixels from it, in steps of 255."""
    import numpy as np

    step = max(1, len(frames) // _BACKGROUND_FRAMES)
    sample = np.stack([frame.pixels for frame in frames[::step]][:_BACKGROUND_FRAMES])
    background = np.median(sample, axis=0).astype(np.uint8)
    spread = np.abs(sample.astype(np.int16) - background)
    return background, float(np.median(spread, axis=0).mean())


def _changed(pixels: "Pixels", background: "Pixels", noise: float) -> "Pixels":
    """Return 1 where a frame differs from the background, gaps closed and specks removed."""
    import cv2
    import numpy as np

    difference = cv2.absdiff(pixels, background).max(axis=2)
    least = max(_LEAST_DIFFERENCE, _NOISE_TIMES * noise)
    mask = (difference > least).astype(np.uint8)
    mask = np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)
    side = max(3, round(min(mask.shape) * _JOINED_SHARE)) | 1
    closed = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    return np.asarray(closed, np.uint8)


def _blobs(mask: "Pixels") -> Iterator[Box]:
    import cv2

    _, _, found, _ = cv2.connectedComponentsWithStats(mask)
    least = mask.size * _LEAST_AREA_SHARE
    large = sorted((tuple(row) for row in found[1:] if row[4] >= least), key=lambda row: -row[4])
    for left, top, width, height, _ in large[:_MAX_BLOBS]:
        yield Box(int(left), int(top), int(left + width), int(top + height))


def _follow(followed: list[Moving], blobs: list[Box], time: float, oldest: float) -> None:
    """Assign each region to the object last seen nearest to it, or start a new object."""
    pairs = sorted(
        (distance, number, index)
        for number, moving in enumerate(followed)
        if moving.times[-1] >= oldest
        for index, blob in enumerate(blobs)
        if (distance := _distance(moving.boxes[-1], blob)) <= _REACH
    )
    taken: set[int] = set()
    moved: set[int] = set()
    for _, number, index in pairs:
        if number in moved or index in taken:
            continue
        moved.add(number)
        taken.add(index)
        followed[number].times.append(time)
        followed[number].boxes.append(blobs[index])
    followed += [Moving([time], [blob]) for i, blob in enumerate(blobs) if i not in taken]


def _distance(one: Box, other: Box) -> float:
    """Return the distance of two boxes, in sizes of the larger."""
    (x0, y0), (x1, y1) = _middle(one), _middle(other)
    size = max(one.width, one.height, other.width, other.height)
    return float(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 / size)


def _goes(moving: Moving) -> bool:
    """Return whether an object has moved from its place, which flicker does not."""
    xs, ys = zip(*(_middle(box) for box in moving.boxes), strict=True)
    size = max(moving.boxes[0].width, moving.boxes[0].height)
    return bool(max(max(xs) - min(xs), max(ys) - min(ys)) >= _LEAST_WAY * size)


def _middle(box: Box) -> tuple[float, float]:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2
