"""DrawBox and AddText: marks on a picture, with the arguments of GTA (appendix B.1)."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.boxes import MAX_PLACE_CHARS, Box, read_box, read_point
from environments.tools.images.lettering import (
    MAX_LETTERS,
    fitting_size,
    place,
    read_color,
    text_size,
    write_on,
)
from environments.tools.images.pictures import (
    ImagePath,
    ResultPath,
    open_picture,
    result_file,
    size_text,
    write_picture,
)
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from PIL.Image import Image

_RED = (255, 0, 0)
_WHITE = (255, 255, 255)
_ACROSS = {"l": 0.0, "m": 0.5, "r": 1.0}
_DOWN = {"t": 0.0, "m": 0.5, "b": 1.0}
_MARGIN = 1 / 20
_LETTERS_PER_HEIGHT = 1 / 18
_LEAST_LETTER_PX = 12


class DrawBoxArguments(Arguments):
    """Arguments of DrawBox."""

    image: ImagePath
    bbox: str = Field(
        max_length=MAX_PLACE_CHARS, description='"(x1, y1, x2, y2)" in pixels from the top left.'
    )
    annotation: str | None = Field(
        default=None, max_length=MAX_LETTERS, description="Words to write at the box."
    )
    path: ResultPath


class AddTextArguments(Arguments):
    """Arguments of AddText."""

    image: ImagePath
    text: str = Field(min_length=1, max_length=MAX_LETTERS)
    position: str = Field(
        max_length=MAX_PLACE_CHARS,
        description=(
            'Lower left corner of the text as "(x, y)" in pixels, or two letters: l, m or r '
            '(left, middle, right), then t, m or b (top, middle, bottom), such as "mt".'
        ),
    )
    color: str = Field(
        default="red", max_length=40, description='A name or hex value, such as "#1e90ff".'
    )
    path: ResultPath


def draw_box(args: DrawBoxArguments, workspace: Path) -> ToolResult:
    """Write a copy of the picture with a red rectangle, and its annotation if there is one."""
    from PIL import ImageDraw

    picture = open_picture(workspace, args.image)
    box = read_box(args.bbox, picture.size)
    target, path = result_file(workspace, args.path, args.image, "box")
    line = max(2, round(min(picture.size) / 200))
    right_bottom = (box.right - 1, box.bottom - 1)
    ImageDraw.Draw(picture).rectangle((*box[:2], *right_bottom), outline=_RED, width=line)
    words = (args.annotation or "").strip()
    if words:
        _annotate(picture, box, words)
    write_picture(picture, target)
    return ToolResult(
        text=f"Wrote {path}: the image, {size_text(picture)}, with a red box at {box}"
        f"{f' named {words!r}' if words else ''}."
    )


def _annotate(picture: "Image", box: Box, words: str) -> None:
    """Write white on red above the box, or inside at its top if there is no space above."""
    from PIL import ImageDraw

    size_px = fitting_size(words, _letter_size(picture), picture.size)
    width, height = text_size(words, size_px)
    left = min(box.left, picture.width - width)
    top = box.top - height if box.top >= height else min(box.top, picture.height - height)
    ImageDraw.Draw(picture).rectangle((left, top, left + width - 1, top + height - 1), fill=_RED)
    write_on(picture, words, (left, top), _WHITE, size_px)


def add_text(args: AddTextArguments, workspace: Path) -> ToolResult:
    """Write a copy of the picture with `text` in a size that suits the picture."""
    picture = open_picture(workspace, args.image)
    color = read_color(args.color)
    if not args.text.strip():
        raise ToolRefused("There is no text to write: it is blank.")
    anchor, at = _anchor(args.position, picture.size)
    size_px = fitting_size(args.text, _letter_size(picture), picture.size)
    box = _moved_inside(place(anchor, at, text_size(args.text, size_px)), picture.size)
    target, path = result_file(workspace, args.path, args.image, "text")
    write_on(picture, args.text, (box.left, box.top), color, size_px)
    write_picture(picture, target)
    return ToolResult(
        text=f"Wrote {path}: the image, {size_text(picture)}, with the text at {box}, "
        f"letters {size_px} pixels high."
    )


def _letter_size(picture: "Image") -> int:
    return max(_LEAST_LETTER_PX, round(picture.height * _LETTERS_PER_HEIGHT))


def _anchor(position: str, size: tuple[int, int]) -> tuple[tuple[float, float], tuple[int, int]]:
    """Return the text's anchor, as shares of its size, and its position in the picture."""
    letters = position.strip().lower()
    if len(letters) == 2 and letters[0] in _ACROSS and letters[1] in _DOWN:
        x, y = _ACROSS[letters[0]], _DOWN[letters[1]]
        margin = round(size[0] * _MARGIN)
        inner = (size[0] - 2 * margin, size[1] - 2 * margin)
        return (x, y), (round(margin + x * inner[0]), round(margin + y * inner[1]))
    point = read_point(position, size)
    if point is None:
        raise ToolRefused(
            f"{position!r} is not a position: write (x, y) in pixels, or l, m or r followed by t, "
            "m or b, such as mt for the middle of the top."
        )
    return (0.0, 1.0), point


def _moved_inside(box: Box, size: tuple[int, int]) -> Box:
    left = max(0, min(box.left, size[0] - box.width))
    top = max(0, min(box.top, size[1] - box.height))
    return Box(left, top, left + box.width, top + box.height)


TOOLS = (
    ToolDefinition(
        name="DrawBox",
        description="Draw a red box on a copy of an image, with words at it if wanted.",
        category=Capability.OPERATION,
        arguments=DrawBoxArguments,
        run=draw_box,
        backend="Pillow",
        paging="Use a smaller image.",
    ),
    ToolDefinition(
        name="AddText",
        description=(
            "Write text on a copy of an image. Its size follows the image's height and shrinks "
            "until the text fits; line breaks are kept."
        ),
        category=Capability.OPERATION,
        arguments=AddTextArguments,
        run=add_text,
        backend="Pillow",
        paging="Use a smaller image.",
    ),
)
