"""Positions in a picture as GTA's tools write them: "(x1, y1, x2, y2)" in pixels, top left."""

import math
import re
from typing import NamedTuple, Self

from taskdata.errors import ToolRefused

MAX_PLACE_CHARS = 100

_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
_AROUND_NUMBERS = re.compile(r"[\s,;()\[\]]*")


class Box(NamedTuple):
    """A rectangle of pixels; `right` and `bottom` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    def __str__(self) -> str:
        return f"({self.left}, {self.top}, {self.right}, {self.bottom})"

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.bottom - self.top

    def within(self, size: tuple[int, int]) -> Self:
        """Return the part of the box inside a picture of `size`; it may be empty."""
        width, height = size
        return self._replace(
            left=min(max(self.left, 0), width),
            top=min(max(self.top, 0), height),
            right=min(max(self.right, 0), width),
            bottom=min(max(self.bottom, 0), height),
        )


def read_box(text: str, size: tuple[int, int]) -> Box:
    """Return the box that `text` names, cut to a picture of `size` (width, height).

    Raises `ToolRefused` unless `text` is four numbers that enclose a part of the picture.
    """
    numbers = _numbers(text)
    if len(numbers) != 4:
        raise ToolRefused(
            f"{text!r} is not a box: write (x1, y1, x2, y2) in pixels, such as (10, 20, 200, 120)."
        )
    x1, y1, x2, y2 = numbers
    asked = Box(
        math.floor(min(x1, x2)),
        math.floor(min(y1, y2)),
        math.ceil(max(x1, x2)),
        math.ceil(max(y1, y2)),
    )
    box = asked.within(size)
    if box.width < 2 or box.height < 2:
        raise ToolRefused(
            f"The box {text!r} holds nothing of the image, which has {size[0]} x {size[1]} pixels; "
            "coordinates count pixels from the top left corner."
        )
    return box


def read_point(text: str, size: tuple[int, int]) -> tuple[int, int] | None:
    """Return the point (x, y) that `text` names, or None if it is not two numbers.

    Raises `ToolRefused` for a point outside a picture of `size`.
    """
    numbers = _numbers(text)
    if len(numbers) != 2:
        return None
    x, y = (round(number) for number in numbers)
    if not (0 <= x <= size[0] and 0 <= y <= size[1]):
        raise ToolRefused(
            f"The point {text!r} lies outside the image, which has {size[0]} x {size[1]} pixels."
        )
    return x, y


def _numbers(text: str) -> list[float]:
    """Return the numbers of `text`, none if it contains words too."""
    if _AROUND_NUMBERS.fullmatch(_NUMBER.sub("", text)) is None:
        return []
    return [float(number) for number in _NUMBER.findall(text)]
