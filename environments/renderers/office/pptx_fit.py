"""Whether the text of a shape fits into the shape and onto the slide, by an estimate.

The sandbox that reads deliverables has no fonts, so widths are those of common sans-serif letters
by class. Only a clear excess counts, so that small errors of the estimate change nothing.
"""

from collections.abc import Callable
from typing import Any

from pptx.enum.text import MSO_AUTO_SIZE

from environments.renderers.office.pptx_places import Box

_EMU_PER_POINT = 12_700
_LINE = 1.2
"""Height of a line, as a multiple of the font size."""
_SLACK = 1.15
"""A smaller excess is within the error of the estimate."""
_NARROW, _WIDE = frozenset("iljtfrI.,;:'!|()[] "), frozenset("mwMW@%&—")
_NARROW_EM, _WIDE_EM, _CAPITAL_EM, _OTHER_EM = 0.29, 0.83, 0.6, 0.5
_UNKNOWN_PT = 18.0
"""PowerPoint's font size for text whose file states none."""

SizeOf = Callable[[Any, Any], float | None]
"""Returns the size of a run of a paragraph, in points."""


def overflows(shape: Any, box: Box, page: Box, size_of: SizeOf) -> bool:
    """Return whether the shape's text runs clearly out of the shape, or off the slide.

    Args:
        shape: A shape with text.
        box: Place and size of the shape.
        page: Place and size of the slide.
        size_of: Returns the font size of a run.
    """
    frame = shape.text_frame
    sides = frame.margin_left + frame.margin_right
    width = (box.right - box.left - sides) / _EMU_PER_POINT
    wraps = frame.word_wrap is not False
    needed = widest = 0.0
    for paragraph in frame.paragraphs:
        sizes = [size_of(run, paragraph) for run in paragraph.runs if run.text.strip()]
        size = max((s for s in sizes if s is not None), default=_UNKNOWN_PT)
        for line in paragraph.text.replace("\v", "\n").split("\n"):
            words = [_em(word) * size for word in line.split()]
            widest = max(widest, max(words, default=0.0) if wraps else _em(line) * size)
            lines = _lines(words, width, _NARROW_EM * size) if wraps else 1
            needed += lines * size * _LINE
    heights = frame.margin_top + frame.margin_bottom
    # A box that grows with its text, or does not break lines, is as large as the text. The text
    # must then end on the slide.
    grows = frame.auto_size == MSO_AUTO_SIZE.SHAPE_TO_FIT_TEXT
    end = page.bottom if grows else min(box.bottom, page.bottom)
    room = (end - box.top - heights) / _EMU_PER_POINT
    edge = min(box.right, page.right) if wraps else page.right
    right = (edge - box.left - sides) / _EMU_PER_POINT
    return bool(needed > room * _SLACK or widest > right * _SLACK)


def _em(text: str) -> float:
    """Return the estimated width of a text, as a multiple of the font size."""
    return sum(
        _NARROW_EM
        if letter in _NARROW
        else _WIDE_EM
        if letter in _WIDE
        else _CAPITAL_EM
        if letter.isupper()
        else _OTHER_EM
        for letter in text
    )


def _lines(words: list[float], width: float, space: float) -> int:
    """Return how many lines the words with these widths take."""
    lines, used = 1, 0.0
    for word in words:
        if used and used + space + word > width:
            lines, used = lines + 1, word
        else:
            used += word + (space if used else 0.0)
    return lines
