"""Which characters of a PDF page are visible.

The page is drawn with its text and without it. A character is visible if that makes a difference.
It is not if it is white on white, transparent, in the invisible drawing mode, clipped, outside the
page or covered.
"""

import ctypes
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from environments.renderers.unseen import SMALLEST_POINTS

_SCALE = 1.5
"""Pixels per point: small print is visible at this scale."""
_MAX_PIXELS = 4_000_000
_LEAST_DIFFERENCE = 12
"""Of 255 in one channel; smaller differences are noise of edges."""
_MAX_FORM_DEPTH = 16


class PageSight:
    """Decides for characters of one page, with positions relative to `corner` (left, top)."""

    def __init__(self, page: pypdfium2.PdfPage, corner: tuple[float, float]) -> None:
        width, height = page.get_size()
        scale = min(_SCALE, (_MAX_PIXELS / max(1.0, width * height)) ** 0.5)
        with_text = _drawn(page, scale)
        for text in _text_objects(page):
            pdfium.FPDFPageObj_SetIsActive(text, False)
        changed = (np.abs(with_text - _drawn(page, scale)) > _LEAST_DIFFERENCE).any(axis=2)
        # Cumulated sums from the top left, so that any box is counted in constant time.
        self._sums: NDArray[np.int64] = np.zeros(np.add(changed.shape, 1), dtype=np.int64)
        self._sums[1:, 1:] = changed.cumsum(axis=0).cumsum(axis=1)
        left, top = _origin(page)
        self._origin = (corner[0] + left, corner[1] + top)
        rows, columns = changed.shape
        self._scale = (columns / max(1e-6, width), rows / max(1e-6, height))

    def is_seen(self, character: dict[str, Any]) -> bool:
        """Return whether a character, as pdfplumber describes it, is visible."""
        if float(character.get("size") or SMALLEST_POINTS) < SMALLEST_POINTS:
            return False
        rows, columns = np.subtract(self._sums.shape, 1)
        left = self._pixel(character["x0"], 0, columns, -0.5)
        right = self._pixel(character["x1"], 0, columns, 1.5)
        top = self._pixel(character["top"], 1, rows, -0.5)
        bottom = self._pixel(character["bottom"], 1, rows, 1.5)
        if left >= right or top >= bottom:
            return False
        sums = self._sums
        inside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        return bool(inside)

    def _pixel(self, place: float, axis: int, most: int, spare: float) -> int:
        pixel = (place - self._origin[axis]) * self._scale[axis] + spare
        return int(min(max(pixel, 0), most))


def _origin(page: pypdfium2.PdfPage) -> tuple[float, float]:
    """Return where the visible part of the rotated page begins: distance from left and top."""
    left, bottom, right, top = page.get_mediabox()
    crop = page.get_cropbox()
    shown = (max(left, crop[0]), max(bottom, crop[1]), min(right, crop[2]), min(top, crop[3]))
    return {
        0: (shown[0] - left, top - shown[3]),
        90: (shown[1] - bottom, shown[0] - left),
        180: (right - shown[2], shown[1] - bottom),
        270: (top - shown[3], right - shown[2]),
    }[page.get_rotation()]


def _drawn(page: pypdfium2.PdfPage, scale: float) -> NDArray[np.int16]:
    bitmap = page.render(scale=scale, may_draw_forms=False, rev_byteorder=True)
    try:
        return np.asarray(bitmap.to_numpy()[:, :, :3], dtype=np.int16)
    finally:
        bitmap.close()


def _text_objects(page: pypdfium2.PdfPage) -> Iterator[Any]:
    """Yield the text objects of a page, including those inside forms."""
    count = pdfium.FPDFPage_CountObjects(page)
    waiting = [(pdfium.FPDFPage_GetObject(page, index), 0) for index in range(count)]
    while waiting:
        item, depth = waiting.pop()
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            yield item
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_FORM_DEPTH:
            waiting += _within(item, depth + 1)


def _within(form: Any, depth: int) -> Iterable[tuple[Any, int]]:
    for index in range(pdfium.FPDFFormObj_CountObjects(form)):
        yield pdfium.FPDFFormObj_GetObject(form, ctypes.c_ulong(index)), depth
