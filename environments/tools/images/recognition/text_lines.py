"""Printed text in a picture, read by the PP-OCRv4 models of the rapidocr package.

The recogniser was trained for Chinese and English and often loses the blanks between Latin words;
they are restored where the picture shows a gap between two letters.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from environments.tools.images.boxes import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Pixels = NDArray[np.uint8]

_MAX_SIDE = 2_000
"""Longest side of the detector's input; it takes about 3 s of CPU time per million pixels."""
_DETECTED_SIDE = 736
_BAND_HEIGHT = 1_600
_TALL = 2.5
_LONGEST_SHAPE = 8
_LEAST_SIDE = 368
_LEAST_CONFIDENCE = 0.5
_POOR = 0.75
_PORTION = 12
"""Lines recognised in one batch."""
_MAX_LINE_CHARS = 500


@dataclass(frozen=True)
class TextLine:
    """A run of text on one line."""

    text: str
    box: Box
    confidence: float
    """Mean probability of its characters, 0.5 to 1."""


@dataclass(frozen=True)
class PageReading:
    """The text that was read in a picture."""

    lines: list[TextLine]
    """Row by row from the top, each row from the left."""
    unread: int
    """Number of texts that were found but not read, because the time was up."""


def read_lines(image: "Image", least_side: int = _DETECTED_SIDE) -> list[TextLine]:
    """Return the texts in an RGB `image`, row by row from the top, each row from the left.

    Args:
        image: Its letters may be as small as 8 pixels.
        least_side: The detector enlarges a picture until its shorter side has so many pixels.
    """
    return read_page(image, math.inf, least_side).lines


def read_page(image: "Image", seconds: float, least_side: int = _DETECTED_SIDE) -> PageReading:
    """Return the texts in an RGB `image`, read from the top for at most about `seconds`."""
    import cv2
    import numpy as np

    end = time.monotonic() + seconds
    scale = _scale(image.size)
    pixels = cv2.cvtColor(np.asarray(image), cv2.COLOR_RGB2BGR)
    if scale < 1:
        pixels = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    lines: list[TextLine] = []
    unread = 0
    for top, band in _bands(np.asarray(pixels, dtype=np.uint8)):
        padded, border = _padded(band)
        engine().text_det.limit_side_len = least_side
        quads, _ = engine().auto_text_det(padded)
        for some in _portions(quads):
            if time.monotonic() > end:
                unread += len(some)
                continue
            for line, quad in _read(padded, some):
                box = _box(quad, border, top, scale).within(image.size)
                lines.append(replace(line, box=box))
    return PageReading(_in_reading_order(lines), unread)


def _scale(size: tuple[int, int]) -> float:
    """Return the scale factor: a tall picture is read in bands, so only its width counts."""
    width, height = size
    return min(1.0, _MAX_SIDE / (width if height > _TALL * width else max(size)))


@cache
def engine() -> Any:
    """Return the detector and the recogniser, loaded once."""
    import cv2
    from rapidocr_onnxruntime import RapidOCR

    # A sandbox has little more than one CPU; threads would wait for each other.
    cv2.setNumThreads(1)
    return RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)


def _bands(pixels: "Pixels") -> Iterator[tuple[int, "Pixels"]]:
    """Yield a picture in bands with their first row, cut at the rows with least content."""
    height, width = pixels.shape[:2]
    if height <= _TALL * width or height <= _MAX_SIDE:
        yield 0, pixels
        return
    top = 0
    while height - top > _MAX_SIDE:
        window = pixels[top + _BAND_HEIGHT * 3 // 4 : top + _BAND_HEIGHT]
        plainest = int(window.std(axis=1).sum(axis=1).argmin())
        cut = top + _BAND_HEIGHT * 3 // 4 + plainest
        yield top, pixels[top:cut]
        top = cut
    yield top, pixels[top:]


def _portions(quads: Any) -> Iterator[Sequence[Any]]:
    for start in range(0, len(quads) if quads is not None else 0, _PORTION):
        yield quads[start : start + _PORTION]


def _read(band: "Pixels", quads: Sequence[Any]) -> Iterator[tuple[TextLine, Any]]:
    """Yield the text recognised in each of `quads`, with the quad."""
    crops = engine().get_crop_img_list(band, quads)
    readings = _best_readings(crops)
    for quad, (crop, (text, confidence, columns)) in zip(quads, readings, strict=True):
        if confidence < _LEAST_CONFIDENCE or not text.strip():
            continue
        spaced = _with_blanks(text, _centres(columns, crop.shape[1]), crop).strip()
        yield TextLine(spaced[:_MAX_LINE_CHARS], Box(0, 0, 0, 0), float(confidence)), quad


def _best_readings(crops: Sequence["Pixels"]) -> list[tuple["Pixels", Any]]:
    """Return each crop with its recognised text, rotated by 180° if that reads better.

    The package's own classifier of upside-down lines is not used, because it turns long lines
    wrongly.
    """
    readings, _ = engine().text_rec(list(crops), True)
    best = list(zip(crops, readings, strict=True))
    poor = [place for place, (_, reading) in enumerate(best) if reading[1] < _POOR]
    if poor:
        turned = [crops[place][::-1, ::-1].copy() for place in poor]
        again, _ = engine().text_rec(turned, True)
        for place, crop, reading in zip(poor, turned, again, strict=True):
            if reading[1] > best[place][1][1]:
                best[place] = (crop, reading)
    return best


def _padded(band: "Pixels") -> tuple["Pixels", tuple[int, int]]:
    """Return the band in the middle of a plain border, and the border's width and height.

    The detector enlarges a picture until its shorter side has some hundred pixels, which would make
    a narrow strip enormous.
    """
    import cv2
    import numpy as np

    height, width = band.shape[:2]
    least = max(_LEAST_SIDE, math.ceil(max(height, width) / _LONGEST_SHAPE))
    across, down = (max(0, math.ceil((least - side) / 2)) for side in (width, height))
    if not across and not down:
        return band, (0, 0)
    rim = np.concatenate((band[0], band[-1], band[:, 0], band[:, -1]))
    ground = [int(level) for level in np.median(rim, axis=0)]
    padded = cv2.copyMakeBorder(band, down, down, across, across, cv2.BORDER_CONSTANT, value=ground)
    return np.asarray(padded, dtype=np.uint8), (across, down)


def _box(quad: Any, border: tuple[int, int], top: int, scale: float) -> Box:
    xs, ys = (quad[:, 0] - border[0]) / scale, (quad[:, 1] - border[1] + top) / scale
    return Box(int(xs.min()), int(ys.min()), math.ceil(xs.max()), math.ceil(ys.max()))


def _centres(columns: Sequence[Any], width: int) -> list[float]:
    """Return the horizontal centre of each character in its crop, in pixels."""
    number, _, words = columns[:3]
    return [(column + 0.5) * width / number for word in words for column in word]


def _with_blanks(text: str, centres: Sequence[float], crop: "Pixels") -> str:
    """Return `text` with a blank wherever the crop shows a gap of that width."""
    if len(centres) != len(text) or len(text) < 2:
        return text
    middles = [(a + b) / 2 for a, b in pairwise(centres)]
    widths = [0] * len(middles)
    for start, end in _gaps(crop):
        nearest = min(range(len(middles)), key=lambda i: abs(middles[i] - (start + end) / 2))
        widths[nearest] = max(widths[nearest], end - start)
    usual = sorted(
        width
        for width, left, right in zip(widths, text, text[1:], strict=False)
        if " " not in (left, right)
    )
    least = 0.2 * crop.shape[0]
    if usual:
        least = max(least, 2.2 * usual[len(usual) // 2])
    spaced = text[0]
    for width, left, right in zip(widths, text, text[1:], strict=False):
        is_blank_lost = width >= least and _is_latin(left) and _is_latin(right)
        spaced += f" {right}" if is_blank_lost else right
    return spaced


def _is_latin(character: str) -> bool:
    return character != " " and character < "\u2e80"


def _gaps(crop: "Pixels") -> list[tuple[int, int]]:
    """Return the runs of columns without ink between inked ones: first column, one after last."""
    import cv2
    import numpy as np

    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    _, ink = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    if np.count_nonzero(ink) > ink.size / 2:
        ink = 255 - ink
    inked = np.flatnonzero(ink.any(axis=0))
    return [(a + 1, b) for a, b in pairwise(inked.tolist()) if b - a > 1]


def _in_reading_order(lines: list[TextLine]) -> list[TextLine]:
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.box.top + line.box.bottom):
        middle = (line.box.top + line.box.bottom) / 2
        last = rows[-1][-1].box if rows else None
        if last and last.top < middle < last.bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.box.left)]
