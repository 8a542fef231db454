"""Which text of a DOCX document is invisible to its readers: formats resolved as Word does."""

from collections.abc import Iterator
from typing import Any

from docx.document import Document as DocumentObject
from docx.oxml.ns import qn

from environments.renderers.unseen import BLACK, SMALLEST_POINTS, WHITE, Colour, alike, colour_of

BASE_STYLES = 10
"""How many base styles are followed; a file may contain a circle of them."""

_MC_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_WPS = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}"
_THEME_COLOURS = {"background1": WHITE, "light1": WHITE, "text1": BLACK, "dark1": BLACK}
_HIGHLIGHTS = {"white": WHITE, "black": BLACK}
_SMALLEST_TWIPS = SMALLEST_POINTS * 20
_EMU_PER_TWIP = 635
_EDGE_EMU = 2 * 914_400
"""Positions are relative to margins and columns, which may be this far from the page edge."""


class Sight:
    """Decides for the runs of one document whether they are visible."""

    def __init__(self, document: DocumentObject) -> None:
        styles = document.styles.element
        self._styles = {style.get(qn("w:styleId")): style for style in styles.iter(qn("w:style"))}
        self._defaults = styles.find(
            f"{qn('w:docDefaults')}/{qn('w:rPrDefault')}/{qn('w:rPr')}",
        )
        background = document.element.find(qn("w:background"))
        page = None if background is None else colour_of(background.get(qn("w:color")))
        self._page = page or WHITE
        section = document.sections[0] if len(document.sections) else None
        self._width = (section.page_width if section is not None else None) or 12_000_000
        self._height = (section.page_height if section is not None else None) or 17_000_000

    def why_unseen(self, run: Any) -> str | None:
        """Return why the text of a run is invisible, None if it is visible."""
        if _is_on(self._property(run, "w:vanish")):
            return "formatted as hidden"
        size = self._property(run, "w:sz")
        if size is not None and _number(size.get(qn("w:val"))) < 2 * SMALLEST_POINTS:
            return "smaller than 3 pt"
        colour = self._property(run, "w:color")
        # Text without a colour of its own is black on light and white on dark backgrounds.
        text = None if colour is None else _written(colour, "w:val", "w:themeColor")
        if text is not None:
            background = self._background(run)
            if background is not None and alike(text, background):
                return "in the colour of its background"
        return self._why_misplaced(run)

    def _property(self, run: Any, tag: str) -> Any:
        """Return the element that sets a property of a run, None if none does."""
        for properties in self._run_properties(run):
            found = properties.find(qn(tag))
            if found is not None and found.get(qn("w:val")) != "auto":
                return found
            if found is not None:
                return None
        return None

    def _run_properties(self, run: Any) -> Iterator[Any]:
        own = run.find(qn("w:rPr"))
        if own is not None:
            yield own
            yield from self._of_style(own.find(qn("w:rStyle")), "w:rPr")
        yield from self._of_style(_paragraph_style(run), "w:rPr")
        if self._defaults is not None:
            yield self._defaults

    def _of_style(self, reference: Any, part: str) -> Iterator[Any]:
        """Yield a part of a style and of its base styles."""
        for _ in range(BASE_STYLES):
            style = None if reference is None else self._styles.get(reference.get(qn("w:val")))
            if style is None:
                return
            found = style.find(qn(part))
            if found is not None:
                yield found
            reference = style.find(qn("w:basedOn"))

    def _background(self, run: Any) -> Colour | None:
        """Return the background colour of a run, None if it is unknown."""
        highlight = self._property(run, "w:highlight")
        if highlight is not None and highlight.get(qn("w:val")) != "none":
            return _HIGHLIGHTS.get(highlight.get(qn("w:val")))
        for shading in self._shadings(run):
            if shading.get(qn("w:fill")) not in (None, "auto"):
                return colour_of(shading.get(qn("w:fill")))
        shape = next(run.iterancestors(f"{_WPS}wsp"), None)
        if shape is not None:
            properties = shape.find(f"{_WPS}spPr")
            fill = None if properties is None else properties.find(qn("a:solidFill"))
            if fill is not None:
                return colour_of(fill[0].get("val")) if len(fill) else None
            if shape.find(f"{_WPS}style") is not None:
                return None
        elif any(True for _ in run.iterancestors(qn("w:pict"))):
            return None
        if any(self._has_shaded_style(table) for table in run.iterancestors(qn("w:tbl"))):
            return None
        return self._page

    def _shadings(self, run: Any) -> Iterator[Any]:
        """Yield the elements that shade a run, from the nearest to the farthest."""
        yield from (p.find(qn("w:shd")) for p in self._run_properties(run) if _has(p, "w:shd"))
        for paragraph in run.iterancestors(qn("w:p")):
            own = paragraph.find(qn("w:pPr"))
            if own is not None and _has(own, "w:shd"):
                yield own.find(qn("w:shd"))
            break
        styled = self._of_style(_paragraph_style(run), "w:pPr")
        yield from (p.find(qn("w:shd")) for p in styled if _has(p, "w:shd"))
        for around in run.iterancestors(qn("w:tc"), qn("w:tbl")):
            properties = around.find(qn("w:tcPr") if around.tag == qn("w:tc") else qn("w:tblPr"))
            if properties is not None and _has(properties, "w:shd"):
                yield properties.find(qn("w:shd"))

    def _has_shaded_style(self, table: Any) -> bool:
        """Return whether a table's style shades cells; which cells is not determined."""
        properties = table.find(qn("w:tblPr"))
        reference = None if properties is None else properties.find(qn("w:tblStyle"))
        for _ in range(BASE_STYLES):
            style = None if reference is None else self._styles.get(reference.get(qn("w:val")))
            if style is None:
                return False
            if any(True for _ in style.iter(qn("w:shd"))):
                return True
            reference = style.find(qn("w:basedOn"))
        return False

    def _why_misplaced(self, run: Any) -> str | None:
        for around in run.iterancestors():
            if around.tag in (_MC_FALLBACK, qn("w:moveFrom")):
                return "replaced by other text"
            if around.tag == qn("w:tr") and _is_unseen_row(around):
                return "in a hidden row"
            if around.tag == qn("w:p") and _is_clipped(around):
                return "in lines lower than 3 pt"
            if around.tag == qn("wp:anchor") and self._is_outside(around):
                return "outside the page"
        return None

    def _is_outside(self, anchor: Any) -> bool:
        extent = anchor.find(qn("wp:extent"))
        for axis, name, page in (("H", "cx", self._width), ("V", "cy", self._height)):
            offset = anchor.find(f"{qn('wp:position' + axis)}/{qn('wp:posOffset')}")
            if offset is None:
                continue
            start = _number(offset.text)
            size = 0.0 if extent is None else _number(extent.get(name))
            if start + size + _EDGE_EMU < 0 or start > page:
                return True
        return False


def _paragraph_style(run: Any) -> Any:
    paragraph = next(run.iterancestors(qn("w:p")), None)
    return None if paragraph is None else paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")


def _has(element: Any, tag: str) -> bool:
    return element.find(qn(tag)) is not None


def _is_on(element: Any) -> bool:
    return element is not None and element.get(qn("w:val")) not in ("0", "false", "off")


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _written(element: Any, plain: str, theme: str) -> Colour | None:
    if element.get(qn(theme)) in _THEME_COLOURS:
        return _THEME_COLOURS[element.get(qn(theme))]
    return colour_of(element.get(qn(plain)))


def _is_unseen_row(row: Any) -> bool:
    properties = row.find(qn("w:trPr"))
    if properties is None:
        return False
    height = properties.find(qn("w:trHeight"))
    is_flat = (
        height is not None
        and height.get(qn("w:hRule")) == "exact"
        and _number(height.get(qn("w:val"))) < _SMALLEST_TWIPS
    )
    return is_flat or _is_on(properties.find(qn("w:hidden")))


def _is_clipped(paragraph: Any) -> bool:
    spacing = paragraph.find(f"{qn('w:pPr')}/{qn('w:spacing')}")
    return (
        spacing is not None
        and spacing.get(qn("w:lineRule")) == "exact"
        and _number(spacing.get(qn("w:line"))) < _SMALLEST_TWIPS
    )
