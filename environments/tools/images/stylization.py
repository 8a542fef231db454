"""ImageStylization: a picture in a classical style that an instruction names."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.pictures import (
    ImagePath,
    ResultPath,
    flat,
    open_picture,
    result_file,
    size_text,
    write_picture,
)
from environments.tools.images.styles import STYLES
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_INSTRUCTION_CHARS = 500
_WORD = re.compile(r"[a-z0-9]+")
# Phrases without punctuation; American spelling is converted to British first.
_PHRASES: Mapping[str, tuple[str, ...]] = {
    "colour pencil": (
        *("colour pencil", "coloured pencil", "colour sketch", "coloured sketch", "crayon"),
        *("colour pencils", "coloured pencils", "colour drawing", "coloured drawing"),
    ),
    "pencil sketch": ("pencil", "sketch", "sketched", "charcoal", "graphite", "drawing"),
    "cartoon": ("cartoon", "cartoonish", "cartoonize", "cartoonise", "comic", "comics", "toon"),
    "oil painting": ("oil", "painting", "painted", "impasto"),
    "watercolour": ("watercolour", "watercolours", "water colour", "aquarelle"),
    "pixel art": ("pixel", "pixelate", "pixelated", "pixelart", "8 bit", "8bit", "mosaic"),
    "emboss": ("emboss", "embossed", "embossing", "relief", "engraved"),
    "edges": ("edge", "edges", "outline", "outlines", "line art", "lineart", "contour", "contours"),
    "posterize": (
        *("posterize", "posterise", "posterized", "posterised", "posterization", "poster"),
        "pop art",
    ),
    "negative": ("negative", "invert", "inverted", "inverse"),
    "vintage": ("vintage", "retro", "old photo", "old photograph", "aged", "faded"),
    "sepia": ("sepia",),
    "blur": ("blur", "blurred", "blurry", "soft focus"),
    "sharpen": ("sharpen", "sharpened", "sharper", "crisper"),
    "black and white": (
        *("black and white", "black white", "b w", "grey", "greyscale", "grey scale"),
        *("monochrome", "desaturate", "desaturated"),
    ),
}


class ImageStylizationArguments(Arguments):
    """Arguments of ImageStylization."""

    image: ImagePath
    instruction: str = Field(
        min_length=1,
        max_length=_MAX_INSTRUCTION_CHARS,
        description=f"Names a style, one of: {', '.join(STYLES)}.",
    )
    path: ResultPath


def stylize(args: ImageStylizationArguments, workspace: Path) -> ToolResult:
    """Write the picture in the named style; refuses unknown styles."""
    import numpy as np
    from PIL import Image

    style = style_of(args.instruction)
    picture = open_picture(workspace, args.image)
    target, path = result_file(workspace, args.path, args.image, style.replace(" ", "_"))
    drawn = Image.fromarray(STYLES[style](np.asarray(flat(picture))))
    if picture.mode == "RGBA":
        drawn.putalpha(picture.getchannel("A"))
    write_picture(drawn, target)
    return ToolResult(text=f"Wrote {path}: the image as {style}, {size_text(drawn)}.")


def style_of(instruction: str) -> str:
    """Return the first of `STYLES` that `instruction` names; raises `ToolRefused` for none."""
    words = " ".join(_WORD.findall(instruction.lower()))
    spelled = f" {words} ".replace("color", "colour").replace("gray", "grey")
    for style in STYLES:
        if any(f" {phrase} " in spelled for phrase in _PHRASES[style]):
            return style
    raise ToolRefused(
        f"{instruction[:100]!r} names no style that this tool knows: it knows {', '.join(STYLES)}."
    )


TOOLS = (
    ToolDefinition(
        name="ImageStylization",
        description=(
            "Redraw an image in a classical style by filters, keeping its content and size. It "
            f"knows these styles and no other: {', '.join(STYLES)}."
        ),
        category=Capability.CREATIVITY,
        arguments=ImageStylizationArguments,
        run=stylize,
        backend="OpenCV",
        paging="Use a smaller image.",
        modules=("cv2",),
        extra="tools-vision",
    ),
)
