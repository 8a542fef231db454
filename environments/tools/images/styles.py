"""Classical picture styles by plain filters, without a model: RGB pixels in and out, same size.

Brush sizes are proportional to the picture, so that a thumbnail and a photo look alike.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_MAX_BRUSHED_PIXELS = 2_000_000
"""Slow brush styles work on a smaller copy of pictures above this size."""

_WIDEST_KERNEL = 4.0
_BLOCKS = 64
_POSTER_LEVELS = 4
_OIL_LEVELS = 12
# Widely used sepia weights, rows for red, green and blue.
_SEPIA = ((0.393, 0.769, 0.189), (0.349, 0.686, 0.168), (0.272, 0.534, 0.131))


def pencil_sketch(pixels: "Pixels") -> "Pixels":
    """Grey strokes on white: the picture's grey divided by its blur (colour dodge)."""
    return _as_rgb(_dodge(_grey(pixels)))


def colour_pencil(pixels: "Pixels") -> "Pixels":
    """Coloured strokes on white: the strokes of the sketch in the picture's own colours."""
    import cv2

    light, red_green, blue_yellow = cv2.split(cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB))
    drawn = cv2.merge((_dodge(_pixels(light)), red_green, blue_yellow))
    return _pixels(cv2.cvtColor(drawn, cv2.COLOR_LAB2RGB))


def cartoon(pixels: "Pixels") -> "Pixels":
    """Flat colours with black outlines."""
    import cv2

    flat = _brushed(pixels, _flattened)
    steps = _steps(8)
    outline = cv2.adaptiveThreshold(
        cv2.medianBlur(_grey(pixels), 5),
        255,
        cv2.ADAPTIVE_THRESH_MEAN_C,
        cv2.THRESH_BINARY,
        _odd(pixels, 80),
        6,
    )
    return _pixels(cv2.bitwise_and(cv2.LUT(flat, steps), _as_rgb(_pixels(outline))))


def oil_painting(pixels: "Pixels") -> "Pixels":
    """Dabs of the colour that is most frequent around each point."""
    return _brushed(pixels, _oil)


def watercolour(pixels: "Pixels") -> "Pixels":
    """Soft pale washes with darker rims."""
    import cv2

    wash = _brushed(pixels, _flattened)
    rims = cv2.cvtColor(_dodge(_grey(wash)), cv2.COLOR_GRAY2RGB)
    pale = cv2.convertScaleAbs(wash, alpha=0.72, beta=0.28 * 255)
    return _pixels(cv2.multiply(pale, rims, scale=1 / 255))


def sepia(pixels: "Pixels") -> "Pixels":
    """Brown tones of an old print."""
    import cv2
    import numpy as np

    return _pixels(cv2.transform(pixels, np.array(_SEPIA, dtype=np.float32)))


def black_and_white(pixels: "Pixels") -> "Pixels":
    """Greys only."""
    return _as_rgb(_grey(pixels))


def emboss(pixels: "Pixels") -> "Pixels":
    """A grey relief lit from the upper left."""
    import cv2
    import numpy as np

    relief = np.array(((-2, -1, 0), (-1, 0, 1), (0, 1, 2)), dtype=np.float32)
    return _as_rgb(_pixels(cv2.filter2D(_grey(pixels), -1, relief, delta=128)))


def blur(pixels: "Pixels") -> "Pixels":
    """Out of focus."""
    height, width = pixels.shape[:2]
    return _blurred(pixels, max(1.5, min(height, width) / 80))


def sharpen(pixels: "Pixels") -> "Pixels":
    """Crisper edges, by an unsharp mask."""
    import cv2

    soft = cv2.GaussianBlur(pixels, (0, 0), 2)
    return _pixels(cv2.addWeighted(pixels, 1.8, soft, -0.8, 0))


def pixel_art(pixels: "Pixels") -> "Pixels":
    """Large square blocks in few colours."""
    import cv2

    height, width = pixels.shape[:2]
    share = min(1.0, _BLOCKS / max(height, width))
    small = cv2.resize(
        pixels,
        (max(1, round(width * share)), max(1, round(height * share))),
        interpolation=cv2.INTER_AREA,
    )
    few = cv2.LUT(small, _steps(6))
    return _pixels(cv2.resize(few, (width, height), interpolation=cv2.INTER_NEAREST))


def edges(pixels: "Pixels") -> "Pixels":
    """Black outlines on white."""
    import cv2

    soft = cv2.GaussianBlur(_grey(pixels), (0, 0), 1.2)
    return _as_rgb(_pixels(cv2.bitwise_not(cv2.Canny(soft, 60, 140))))


def posterize(pixels: "Pixels") -> "Pixels":
    """Four steps for each of red, green and blue."""
    import cv2

    return _pixels(cv2.LUT(pixels, _steps(_POSTER_LEVELS)))


def negative(pixels: "Pixels") -> "Pixels":
    """Every colour its opposite."""
    import cv2

    return _pixels(cv2.bitwise_not(pixels))


def vintage(pixels: "Pixels") -> "Pixels":
    """Faded brownish colours that darken to the corners."""
    import cv2
    import numpy as np

    faded = cv2.addWeighted(pixels, 0.5, sepia(pixels), 0.4, 20)
    height, width = pixels.shape[:2]
    down = np.linspace(-1, 1, height, dtype=np.float32)[:, None] ** 2
    across = np.linspace(-1, 1, width, dtype=np.float32)[None, :] ** 2
    light = (255 * (1 - 0.3 * (down + across))).astype(np.uint8)
    return _pixels(cv2.multiply(faded, _as_rgb(light), scale=1 / 255))


STYLES: Mapping[str, Callable[["Pixels"], "Pixels"]] = {
    "colour pencil": colour_pencil,
    "cartoon": cartoon,
    "watercolour": watercolour,
    "pixel art": pixel_art,
    "emboss": emboss,
    "posterize": posterize,
    "negative": negative,
    "pencil sketch": pencil_sketch,
    "oil painting": oil_painting,
    "edges": edges,
    "sepia": sepia,
    "vintage": vintage,
    "blur": blur,
    "sharpen": sharpen,
    "black and white": black_and_white,
}
"""Style by name, specific ones first: a black and white pencil sketch is a pencil sketch."""


def _pixels(array: object) -> "Pixels":
    """Return a result of OpenCV as pixels, which its own types do not say."""
    import numpy as np

    return np.asarray(array, dtype=np.uint8)


def _grey(pixels: "Pixels") -> "Pixels":
    import cv2

    return _pixels(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))


def _as_rgb(grey: "Pixels") -> "Pixels":
    import cv2

    return _pixels(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB))


def _dodge(grey: "Pixels") -> "Pixels":
    import cv2

    soft = _blurred(grey, max(2.0, min(grey.shape) / 100))
    return _pixels(cv2.divide(grey, soft, scale=250))


def _blurred(pixels: "Pixels", radius: float) -> "Pixels":
    """Return a Gaussian blur; a wide one is computed on a smaller copy to save time."""
    import cv2

    height, width = pixels.shape[:2]
    share = min(1.0, _WIDEST_KERNEL / radius)
    size = (max(1, round(width * share)), max(1, round(height * share)))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    soft = cv2.GaussianBlur(small, (0, 0), radius * share)
    return _pixels(cv2.resize(soft, (width, height), interpolation=cv2.INTER_LINEAR))


def _steps(levels: int) -> "Pixels":
    """Return a table that maps 0 to 255 to `levels` even steps."""
    import numpy as np

    step = np.arange(256) * levels // 256
    return _pixels(step * 255 // (levels - 1))


def _odd(pixels: "Pixels", share: int) -> int:
    """Return an odd number of pixels that is about 1 / `share` of the shorter side."""
    height, width = pixels.shape[:2]
    return int(max(3, min(height, width) // share)) | 1


def _brushed(pixels: "Pixels", brush: Callable[["Pixels"], "Pixels"]) -> "Pixels":
    """Return `brush` of the picture, computed on a smaller copy if the picture is large."""
    import cv2

    height, width = pixels.shape[:2]
    share = (_MAX_BRUSHED_PIXELS / (height * width)) ** 0.5
    if share >= 1:
        return brush(pixels)
    small = (max(1, round(width * share)), max(1, round(height * share)))
    painted = brush(_pixels(cv2.resize(pixels, small, interpolation=cv2.INTER_AREA)))
    return _pixels(cv2.resize(painted, (width, height), interpolation=cv2.INTER_CUBIC))


def _flattened(pixels: "Pixels") -> "Pixels":
    """Return the picture without texture but with its edges."""
    import cv2

    for _ in range(3):
        pixels = _pixels(cv2.bilateralFilter(pixels, 9, 40, 9))
    return pixels


def _oil(pixels: "Pixels") -> "Pixels":
    """Return, for each point, the mean colour of the most frequent brightness around it."""
    import cv2
    import numpy as np

    brush = (_odd(pixels, 70), _odd(pixels, 70))
    level = _grey(pixels).astype(np.int16) * _OIL_LEVELS // 256
    most = np.zeros(level.shape, dtype=np.float32)
    painted = pixels.copy()
    for number in range(_OIL_LEVELS):
        mask = (level == number).astype(np.float32)
        share = cv2.boxFilter(mask, -1, brush)
        wins = share > most
        if not wins.any():
            continue
        most[wins] = share[wins]
        for channel in range(3):
            total = cv2.boxFilter(pixels[:, :, channel] * mask, -1, brush)
            painted[:, :, channel][wins] = (total[wins] / share[wins]).clip(0, 255)
    return painted
