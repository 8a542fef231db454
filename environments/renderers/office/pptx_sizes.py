"""The effective size of a text run on a slide, resolved as PowerPoint does."""

from collections.abc import Iterator
from typing import Any

from pptx.oxml.ns import qn
from pptx.slide import Slide as PptxSlide

_TITLES = ("title", "ctrTitle")


def size_of_run(run: Any, paragraph: Any, shape: Any, slide: PptxSlide) -> float | None:
    """Return the run's size in points, None if the file states none.

    Looked up in this order: the run, the shape's list style, the placeholders that it inherits from
    on layout and master, the master's text style for its kind. Then the shrinking is applied that
    fits text to its box.
    """
    scale = _font_scale(shape)
    if run.font.size is not None:
        return round(float(run.font.size.pt) * scale, 2)
    for style in _list_styles(shape, slide):
        size = _level_size(style, paragraph.level)
        if size is not None:
            return round(size * scale, 2)
    return None


def _level_size(style: Any, level: int) -> float | None:
    """Return the size in points that a list style gives to paragraphs of a level (from 0)."""
    if style is None:
        return None
    properties = style.find(f"{qn(f'a:lvl{level + 1}pPr')}/{qn('a:defRPr')}")
    size = None if properties is None else properties.get("sz")
    return int(size) / 100 if size and size.isdigit() else None


def _list_styles(shape: Any, slide: PptxSlide) -> Iterator[Any]:
    own = shape._element.find(f"{qn('p:txBody')}/{qn('a:lstStyle')}")
    yield own
    kind = "otherStyle"
    if shape.is_placeholder:
        base = shape
        for _ in ("layout", "master"):
            base = getattr(base, "_base_placeholder", None)
            if base is None:
                break
            yield base._element.find(f"{qn('p:txBody')}/{qn('a:lstStyle')}")
        placeholder = shape._element.find(".//" + qn("p:ph"))
        is_title = placeholder is not None and placeholder.get("type") in _TITLES
        kind = "titleStyle" if is_title else "bodyStyle"
    master = slide.slide_layout.slide_master._element
    yield master.find(f"{qn('p:txStyles')}/{qn(f'p:{kind}')}")
    if kind == "otherStyle":
        presentation = slide.part.package.presentation_part._element
        yield presentation.find(qn("p:defaultTextStyle"))


def _font_scale(shape: Any) -> float:
    fit = shape._element.find(f"{qn('p:txBody')}/{qn('a:bodyPr')}/{qn('a:normAutofit')}")
    scale = "" if fit is None else fit.get("fontScale", "")
    return int(scale) / 100_000 if scale.isdigit() else 1.0
