"""Pictures in and out of the workspace: opened safely, normalised, written.

Nothing is decoded before its size is known, and only raster formats with simple decoders are tried:
no PostScript, no vector graphics.
"""

import re
import struct
import zlib
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from environments.toolkit.definition import InputPath
from environments.tools.workspace.paths import input_file, output_file
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 40_000_000
"""Largest picture that is decoded; 120 MB as RGB."""

_MAX_SIDE = 30_000
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF", "PPM")
_MAX_STEM_CHARS = 60
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_LIGHT = 160
_WHITE_OF_16_BITS = 65_535.0

ImagePath = Annotated[InputPath, Field(description="Path of the image, such as input/photo.jpg.")]
ResultPath = Annotated[
    str | None,
    Field(
        default=None,
        min_length=1,
        description="PNG or JPEG to write below output/; named after the image by default.",
    ),
]


def open_picture(workspace: Path, path: str) -> "Image":
    """Return the picture at `path`, upright, as 8-bit RGB, or RGBA if it has transparency.

    Of an animation it is the first frame. Raises `ToolRefused` for what is not an image, is
    damaged, or has more than `MAX_PIXELS`.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    source = input_file(workspace, path)
    try:
        with Image.open(source, formats=_FORMATS) as image:
            _refuse_huge(path, image.size)
            image.load()
            upright = ImageOps.exif_transpose(image)
            return _eight_bit(upright)
    except UnidentifiedImageError as exc:
        raise ToolRefused(
            f"{path} is not an image that can be read: PNG, JPEG, GIF, BMP, TIFF, WebP, AVIF "
            "and PPM can."
        ) from exc
    except Image.DecompressionBombError as exc:
        raise ToolRefused(f"{path} has too many pixels: at most {MAX_PIXELS} can be read.") from exc
    except (OSError, SyntaxError, ValueError, IndexError, struct.error, zlib.error) as exc:
        raise ToolRefused(f"{path} is a damaged image: {str(exc)[:200]}") from exc


def _refuse_huge(path: str, size: tuple[int, int]) -> None:
    width, height = size
    if width * height > MAX_PIXELS or max(size) > _MAX_SIDE:
        raise ToolRefused(
            f"{path} has {width} x {height} pixels: at most {MAX_PIXELS} in all and {_MAX_SIDE} "
            "a side can be read. Make it smaller first."
        )


def _eight_bit(image: "Image") -> "Image":
    if image.mode.startswith(("I", "F")):
        image = _grey_of_deep(image)
    has_alpha = image.mode in ("LA", "PA", "La", "RGBA", "RGBa") or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "RGB")


def _grey_of_deep(image: "Image") -> "Image":
    """Return a picture of 16 or 32 bits per pixel as 8-bit grey.

    16-bit values keep their meaning (0 black, 65535 white); wider values have no defined white, so
    their range is stretched.
    """
    import numpy as np
    from PIL import Image

    values = np.nan_to_num(np.asarray(image).astype(np.float32))
    low, high = float(values.min()), float(values.max())
    if image.mode.startswith("I") and low >= 0 and high <= _WHITE_OF_16_BITS:
        low, high = 0.0, _WHITE_OF_16_BITS
    levels = (values - low) * (255 / max(high - low, 1e-9))
    return Image.fromarray(levels.clip(0, 255).astype(np.uint8))


def flat(image: "Image") -> "Image":
    """Return `image` as RGB; transparent parts become white, or black behind light content."""
    from PIL import Image, ImageStat

    if image.mode == "RGB":
        return image
    alpha = image.getchannel("A")
    content = ImageStat.Stat(image.convert("L"), mask=alpha)
    is_light = content.count[0] > 0 and content.mean[0] > _LIGHT
    ground = Image.new("RGB", image.size, "black" if is_light else "white")
    ground.paste(image, mask=alpha)
    return ground


def result_file(workspace: Path, path: str | None, source: str, suffix: str) -> tuple[Path, str]:
    """Return where to write a picture made from `source`, and the path to report.

    Without `path` it is `output/<name of source>_<suffix>.png`, numbered if that exists.
    """
    if path is not None:
        return output_file(workspace, path, (".png", ".jpg", ".jpeg")), path
    stem = _NOT_IN_NAMES.sub("_", PurePosixPath(source).stem)[:_MAX_STEM_CHARS] or "image"
    names = (f"output/{stem}_{suffix}{f'_{n}' if n > 1 else ''}.png" for n in count(1))
    free = next(name for name in names if not output_file(workspace, name).exists())
    return output_file(workspace, free), free


def write_picture(image: "Image", target: Path) -> None:
    """Write `image` in the format of the file's ending; JPEG has no transparency, so it is flat."""
    if target.suffix.lower() == ".png":
        # More compression hardly makes a photo smaller, but takes most of the time.
        image.save(target, format="PNG", compress_level=2)
    else:
        flat(image).save(target, format="JPEG", quality=92)


def size_text(image: "Image") -> str:
    """Return the size as `800 x 600 pixels`."""
    return f"{image.width} x {image.height} pixels"
