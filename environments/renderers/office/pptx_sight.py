"""Which text of a slide is invisible: because of its position, size or colours."""

from collections.abc import Sequence
from typing import Any

from pptx.oxml.ns import qn
from pptx.slide import Slide as PptxSlide

from environments.renderers.office.pptx_places import (
    Box,
    Placed,
    fill_of,
    hides_what_is_below,
    is_see_through,
    solid_colour,
)
from environments.renderers.unseen import SMALLEST_POINTS, WHITE, Colour, alike

_WHOLE = 0.95
"""Share of a box from which it counts as covered, or as lying on the shape behind."""
_TRANSPARENT = 10_000
"""Alpha in thousandths of a per cent below which text is invisible."""


class SlideSight:
    """Decides for the shapes of one slide, given from back to front, whether they are visible."""

    def __init__(self, slide: PptxSlide, shapes: Sequence[Placed], page: Box) -> None:
        self._shapes = shapes
        self._place = {id(placed): place for place, placed in enumerate(shapes)}
        self._page = page
        self._ground = _ground(slide)

    def why_unseen(self, placed: Placed) -> str | None:
        """Return why a whole shape is invisible, None if it is visible."""
        names = placed.shape._element.iter(qn("p:cNvPr"))
        if any(name.get("hidden") in ("1", "true") for name in names):
            return "in a hidden shape"
        box = placed.box
        if box is None or not box.area:
            return None
        if not box.common(self._page):
            return "outside the slide"
        for other in self._shapes[self._place[id(placed)] + 1 :]:
            covers = other.box is not None and other.box.common(box) >= _WHOLE * box.area
            if covers and hides_what_is_below(other.shape):
                return "under another shape"
        return None

    def why_run_unseen(self, placed: Placed, run: Any, size_pt: float | None) -> str | None:
        """Return why a run in a visible shape is invisible, None if it is visible."""
        if size_pt is not None and size_pt < SMALLEST_POINTS:
            return "smaller than 3 pt"
        properties = run._r.find(qn("a:rPr"))
        if properties is None:
            return None
        if properties.find(qn("a:noFill")) is not None:
            return "without a colour"
        fill = properties.find(qn("a:solidFill"))
        alpha = None if fill is None else fill.find(f"*/{qn('a:alpha')}")
        if alpha is not None and alpha.get("val", "").isdigit():
            return "transparent" if int(alpha.get("val")) < _TRANSPARENT else None
        colour, background = solid_colour(fill), self._background(placed)
        if colour is not None and background is not None and alike(colour, background):
            return "in the colour of its background"
        return None

    def _background(self, placed: Placed) -> Colour | None:
        """Return the colour behind a shape's text, None if it is unknown."""
        if not is_see_through(placed.shape):
            return solid_colour(fill_of(placed.shape))
        if placed.shape.is_placeholder and fill_of(placed.shape) is None:
            base = getattr(placed.shape, "_base_placeholder", None)
            if base is not None and not is_see_through(base):
                return solid_colour(fill_of(base))
        for other in reversed(self._shapes[: self._place[id(placed)]]):
            if is_see_through(other.shape):
                continue
            if placed.box is None or other.box is None:
                return None
            common = other.box.common(placed.box)
            if common:
                is_whole = common >= _WHOLE * placed.box.area
                return solid_colour(fill_of(other.shape)) if is_whole else None
        return self._ground


def _ground(slide: PptxSlide) -> Colour | None:
    """Return the colour of the slide's background, None if it is unknown."""
    layout = slide.slide_layout
    for part in (slide, layout, layout.slide_master):
        # Shapes of a layout or master lie between the background and the slide's own shapes.
        if part is not slide and any(not s.is_placeholder for s in part.shapes):
            return None
        background = part._element.find(f"{qn('p:cSld')}/{qn('p:bg')}")
        if background is None:
            continue
        fill = background.find(f"{qn('p:bgPr')}/{qn('a:solidFill')}")
        reference = background.find(qn("p:bgRef"))
        return solid_colour(fill if fill is not None else reference)
    return WHITE
