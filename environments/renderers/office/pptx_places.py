"""Positions of the shapes of a slide, and their fill colours."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image, UnidentifiedImageError
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.oxml.ns import qn

from environments.renderers.limits import refuse_beyond
from environments.renderers.unseen import BLACK, WHITE, Colour, colour_of

_GROUP_DEPTH = 16
_THEME_COLOURS = {"bg1": WHITE, "lt1": WHITE, "tx1": BLACK, "dk1": BLACK}
_FILLS = ("a:noFill", "a:solidFill", "a:gradFill", "a:blipFill", "a:pattFill", "a:grpFill")
_FULL_SHAPES = ("rect", "roundRect")
"""Shapes that fill their box completely."""


@dataclass(frozen=True)
class Box:
    """A rectangle on a slide, in EMU."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """Area; 0 for an empty box."""
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)

    def common(self, other: "Box") -> float:
        """Return the area that both boxes cover."""
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        ).area


@dataclass(frozen=True)
class Placed:
    """A shape of a slide with its box; None if the file states no position."""

    shape: Any
    box: Box | None


@dataclass(frozen=True)
class _Scale:
    """Converts coordinates inside a group to those of the slide."""

    x: float = 1.0
    y: float = 1.0
    left: float = 0.0
    top: float = 0.0

    def box(self, shape: Any) -> Box | None:
        sides = (shape.left, shape.top, shape.width, shape.height)
        if any(side is None for side in sides):
            return None
        left, top = self.left + self.x * sides[0], self.top + self.y * sides[1]
        return Box(left, top, left + self.x * sides[2], top + self.y * sides[3])

    def inside(self, group: Any) -> "_Scale":
        outer, frame = self.box(group), group._element.find(f"{qn('p:grpSpPr')}/{qn('a:xfrm')}")
        inner = None if frame is None else frame.find(qn("a:chOff"))
        size = None if frame is None else frame.find(qn("a:chExt"))
        if outer is None or inner is None or size is None:
            return self
        width, height = int(size.get("cx") or 0), int(size.get("cy") or 0)
        x = (outer.right - outer.left) / width if width else self.x
        y = (outer.bottom - outer.top) / height if height else self.y
        left = outer.left - x * int(inner.get("x") or 0)
        return _Scale(x, y, left, outer.top - y * int(inner.get("y") or 0))


def placed_shapes(shapes: Any, scale: _Scale | None = None, depth: int = 0) -> Iterator[Placed]:
    """Yield the shapes of a slide from back to front; shapes of groups one by one."""
    scale = scale or _Scale()
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            refuse_beyond(depth, _GROUP_DEPTH, "levels of grouped shapes")
            yield from placed_shapes(shape.shapes, scale.inside(shape), depth + 1)
        else:
            yield Placed(shape, scale.box(shape))


def solid_colour(fill: Any) -> Colour | None:
    """Return the colour of a solid fill, None if it is unknown or not opaque."""
    if fill is None or not len(fill) or fill[0].find(qn("a:alpha")) is not None:
        return None
    if fill[0].tag == qn("a:srgbClr"):
        return None if len(fill[0]) else colour_of(fill[0].get("val"))
    # A child element, such as lumMod, modifies the colour.
    is_plain = fill[0].tag == qn("a:schemeClr") and not len(fill[0])
    return _THEME_COLOURS.get(fill[0].get("val")) if is_plain else None


def fill_of(shape: Any) -> Any:
    """Return the fill element of a shape, None if the shape has none."""
    properties = shape._element.find(qn("p:spPr"))
    for name in _FILLS if properties is not None else ():
        found = properties.find(qn(name))
        if found is not None:
            return found
    return None


def is_see_through(shape: Any) -> bool:
    """Return whether what is behind a shape is certainly visible, as behind a plain text box."""
    if shape._element.tag == qn("p:cxnSp"):
        return True
    if shape._element.tag != qn("p:sp"):
        return False
    fill = fill_of(shape)
    if fill is not None:
        return bool(fill.tag == qn("a:noFill"))
    reference = shape._element.find(f"{qn('p:style')}/{qn('a:fillRef')}")
    return reference is None or reference.get("idx") == "0"


def hides_what_is_below(shape: Any) -> bool:
    """Return whether a shape may hide everything behind it."""
    if shape._element.tag == qn("p:pic"):
        return _is_opaque(shape)
    geometry = shape._element.find(f"{qn('p:spPr')}/{qn('a:prstGeom')}")
    if geometry is None or geometry.get("prst") not in _FULL_SHAPES:
        return False
    return fill_of(shape) is not None and solid_colour(fill_of(shape)) is not None


def _is_opaque(picture: Any) -> bool:
    try:
        with Image.open(io.BytesIO(picture.image.blob)) as image:
            return not image.has_transparency_data
    except (UnidentifiedImageError, OSError, ValueError, KeyError):
        return False
