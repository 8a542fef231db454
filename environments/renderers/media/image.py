"""Raster images: size, colours by region and overall, brightness; and small previews."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from environments.renderers.limits import (
    MAX_FILE_BYTES,
    MAX_PIXELS,
    MAX_PREVIEW_BYTES,
    PREVIEW_PIXELS,
    Unreadable,
    refuse_beyond,
)
from taskdata.schema.views import ImageView

GRID = 32
_LEVEL = 17
"""Step between the 16 levels of a channel: 0, 17, ..., 255."""
_COMMONEST = 64
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".gif": "GIF", ".webp": "WEBP"}


def read_image(path: Path) -> ImageView:
    """Return measurements of the image; transparent pixels count as on white."""
    with open_image(path) as image:
        image.load()
        has_alpha = "A" in image.getbands() or "transparency" in image.info
        flat = on_white(image)
        dpi = image.info.get("dpi")
        luminance = np.asarray(flat.convert("L"), dtype=np.float64)
        return ImageView(
            format=image.format or "",
            width=image.width,
            height=image.height,
            mode=image.mode,
            dpi=float(dpi[0]) if dpi else None,
            grid=_grid(flat),
            colours=_colours(flat),
            mean_luminance=float(luminance.mean()),
            contrast=float(luminance.std()),
            has_alpha=has_alpha,
        )


def preview_image(path: Path) -> bytes:
    """Return a thumbnail of the image as PNG."""
    with open_image(path) as image:
        return small_png(image)


def small_png(image: Image.Image) -> bytes:
    """Return the image as PNG of at most `PREVIEW_PIXELS` a side and `MAX_PREVIEW_BYTES`."""
    image = on_white(image)
    side = PREVIEW_PIXELS
    while True:
        image.thumbnail((side, side))
        buffer = io.BytesIO()
        image.save(buffer, "PNG", optimize=True)
        if buffer.tell() <= MAX_PREVIEW_BYTES:
            return buffer.getvalue()
        side = side * 3 // 4


def open_image(path: Path) -> Image.Image:
    """Return the image, not yet decoded; raises `Unreadable` for other content and bombs."""
    refuse_beyond(path.stat().st_size, MAX_FILE_BYTES, "bytes")
    expected = _FORMATS[path.suffix.lower()]
    # Our own limit is checked below, on the size in the header, before any pixel is decoded.
    Image.MAX_IMAGE_PIXELS = None
    try:
        image = Image.open(path, formats=sorted(set(_FORMATS.values())))
    except UnidentifiedImageError as exc:
        raise Unreadable(f"its content is not that of a {expected} file") from exc
    if image.format != expected:
        image.close()
        raise Unreadable(f"its content is {image.format}, not {expected}")
    refuse_beyond(image.width * image.height, MAX_PIXELS, "pixels")
    return image


def on_white(image: Image.Image) -> Image.Image:
    """Return the image in RGB, where it is transparent on white."""
    if image.mode.startswith("I"):
        # 16-bit greyscale; Pillow would clip it to white.
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    if "A" in image.getbands() or "transparency" in image.info:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, rgba).convert("RGB")
    return image.convert("RGB")


def _grid(image: Image.Image) -> tuple[tuple[str, ...], ...]:
    small = np.asarray(image.resize((GRID, GRID), Image.Resampling.BOX))
    return tuple(tuple(_hex(pixel) for pixel in row) for row in small)


def _colours(image: Image.Image) -> dict[str, float]:
    levels = (np.asarray(image, dtype=np.uint16) + _LEVEL // 2) // _LEVEL
    codes = (levels[..., 0] * 256 + levels[..., 1] * 16 + levels[..., 2]).ravel()
    counts = np.bincount(codes, minlength=4096)
    order = np.argsort(counts, kind="stable")[::-1][:_COMMONEST]
    return {
        _hex((code // 256 * _LEVEL, code // 16 % 16 * _LEVEL, code % 16 * _LEVEL)): float(
            counts[code] / codes.size
        )
        for code in order.tolist()
        if counts[code]
    }


def _hex(pixel: Any) -> str:
    red, green, blue = (int(channel) for channel in pixel)
    return f"{red:02X}{green:02X}{blue:02X}"
