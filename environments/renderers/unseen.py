"""Text of a file that is invisible to its readers: colour contrast, and counting."""

from taskdata.schema.views import HiddenText

Colour = tuple[int, int, int]
"""Red, green, blue, 0-255."""

WHITE: Colour = (255, 255, 255)
BLACK: Colour = (0, 0, 0)
SMALLEST_POINTS = 3.0
"""Text below this size is unreadable."""

_LEAST_CONTRAST = 1.2
"""Contrast ratio of WCAG 2, 1 to 21: the lightest greys in use on white have 1.3."""
_QUOTE_CHARACTERS = 120
_MAX_REASONS = 5


class Unseen:
    """Collects the invisible text of one file."""

    def __init__(self) -> None:
        self._words = 0
        self._quotes: list[str] = []
        self._length = 0
        self._reasons: dict[str, None] = {}

    def add(self, text: str, reason: str) -> None:
        """Count a text that is invisible for this reason."""
        words = text.split()
        if not words:
            return
        self._words += len(words)
        self._reasons[reason] = None
        if self._length < _QUOTE_CHARACTERS:
            self._quotes.append(" ".join(words))
            self._length += len(self._quotes[-1]) + 1

    def found(self) -> HiddenText | None:
        """Return the collected text, None if there is none."""
        if not self._words:
            return None
        return HiddenText(
            words=self._words,
            quote=" ".join(self._quotes)[:_QUOTE_CHARACTERS],
            reasons=tuple(self._reasons)[:_MAX_REASONS],
        )


def colour_of(written: str | None) -> Colour | None:
    """Return the colour of RRGGBB or AARRGGBB, None for other texts."""
    digits = (written or "").removeprefix("#")[-6:]
    try:
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        return None
    return red, green, blue


def alike(text: Colour, background: Colour) -> bool:
    """Return whether text in one colour is indistinguishable from a background in the other."""
    lighter, darker = sorted((_luminance(text), _luminance(background)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05) < _LEAST_CONTRAST


def _luminance(colour: Colour) -> float:
    """Return the relative luminance as defined by WCAG 2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
