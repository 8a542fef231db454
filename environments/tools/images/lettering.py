"""Text on pictures: a font with the needed letters, in a size that fits."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from environments.tools.images.boxes import Box
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

MAX_LETTERS = 1_000

_SYSTEM_FONTS = Path("/usr/share/fonts")
_WIDE_COVERAGE = ("NotoSansCJK*", "DroidSansFallback*", "wqy-*", "SourceHanSans*", "unifont*")
_NO_LETTER = "\U0010fffe"
_LOOK_PX = 16
_SMALLEST_PX = 8
_SPACING = 1.2


def write_on(
    image: "Image",
    text: str,
    corner: tuple[int, int],
    color: tuple[int, ...],
    size_px: int,
) -> None:
    """Write `text` with the upper left of its box (see `text_size`) at `corner`."""
    from PIL import ImageDraw

    draw = ImageDraw.Draw(image)
    face = font_for(text, size_px)
    x, y = corner
    for line in _lines(text):
        draw.text((x, y), line, fill=color, font=face, anchor="la")
        y += round(size_px * _SPACING)


def read_color(name: str) -> tuple[int, ...]:
    """Return red, green and blue, 0-255, of a colour name or hex value; refuses others."""
    from PIL import ImageColor

    try:
        return ImageColor.getrgb(name.strip())[:3]
    except ValueError as exc:
        raise ToolRefused(
            f"{name!r} is not a color: use a name such as blue, or a hex value such as #1e90ff."
        ) from exc


def text_size(text: str, size_px: int) -> tuple[int, int]:
    """Return the width and height in pixels that `text` takes."""
    face = font_for(text, size_px)
    lines = _lines(text)
    width = max(int(face.getlength(line)) + 1 for line in lines)
    return width, round(size_px * _SPACING) * len(lines)


def fitting_size(text: str, size_px: int, within: tuple[int, int]) -> int:
    """Return the largest size up to `size_px` at which `text` fits; refuses if none does."""
    width, height = text_size(text, size_px)
    # One step smaller than proportional, since hinting rounds widths.
    share = min(within[0] / width, within[1] / height)
    size = size_px if share >= 1 else int(size_px * share * 0.98)
    if size < _SMALLEST_PX:
        raise ToolRefused(
            f"The text does not fit an image of {within[0]} x {within[1]} pixels: "
            "shorten it or break it into lines."
        )
    return size


def place(anchor: tuple[float, float], at: tuple[int, int], text: tuple[int, int]) -> Box:
    """Return the box of a text of size `text` whose point `anchor` (0 to 1 each) is at `at`."""
    left, top = round(at[0] - anchor[0] * text[0]), round(at[1] - anchor[1] * text[1])
    return Box(left, top, left + text[0], top + text[1])


def _lines(text: str) -> list[str]:
    """Return the lines of `text`, unprintable characters replaced by blanks."""
    return [
        "".join(letter if letter.isprintable() else " " for letter in line)
        for line in text.splitlines()
    ]


@lru_cache(maxsize=16)
def font_for(text: str, size_px: int) -> "FreeTypeFont":
    """Return a font with all letters of `text`; refuses when there is none."""
    from PIL import ImageFont

    letters = {letter for letter in text if letter.isprintable() and not letter.isspace()}
    missing: set[str] = set()
    for file in _font_files():
        face = ImageFont.truetype(file, _LOOK_PX)
        blank = _look(face, _NO_LETTER)
        lacking = {letter for letter in letters if _look(face, letter) == blank}
        if not lacking:
            return ImageFont.truetype(file, size_px)
        missing = missing or lacking
    raise ToolRefused(
        f"No font here has the signs {' '.join(sorted(missing)[:20])}: write the text without them."
    )


def _look(face: "FreeTypeFont", letter: str) -> tuple[tuple[int, int], bytes]:
    mask = face.getmask(letter)
    return mask.size, bytes(mask)


def _font_files() -> Iterator[Path]:
    """Yield DejaVu Sans, which matplotlib brings, then what the system has for other scripts."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ImportError("lettering needs the fonts that matplotlib ships")
    yield Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    for pattern in _WIDE_COVERAGE:
        yield from sorted(_SYSTEM_FONTS.rglob(f"{pattern}.[to]t[fc]"))
