"""CountGivenObject and TextToBbox: counting and locating objects (GTA, appendix B.1)."""

from typing import Any

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.services import Service
from environments.tools.images.boxes import MAX_PLACE_CHARS
from environments.tools.images.pictures import ImagePath
from environments.tools.models import media
from environments.tools.models.asking import AnswerForm, filled
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_COUNT = 100_000
_MAX_BOXES = 50
_COUNT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
    "additionalProperties": False,
}
_SIDES = ("x1", "y1", "x2", "y2")
_BOXES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "boxes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {side: {"type": "integer"} for side in _SIDES},
                "required": list(_SIDES),
                "additionalProperties": False,
            },
        }
    },
    "required": ["boxes"],
    "additionalProperties": False,
}


class CountArguments(Arguments):
    """Arguments of CountGivenObject."""

    image: ImagePath
    text: str = Field(min_length=1, max_length=300, description="What to count.")
    bbox: str | None = Field(
        default=None,
        max_length=MAX_PLACE_CHARS,
        description='Count within "(x1, y1, x2, y2)" only, in pixels; the whole image by default.',
    )


class TextToBboxArguments(Arguments):
    """Arguments of TextToBbox."""

    image: ImagePath
    text: str = Field(min_length=1, max_length=300, description="What to find.")
    top1: bool = Field(default=True, description="Only the best match; else every match.")


class _Count(AnswerForm):
    count: int = Field(ge=0, le=_MAX_COUNT)


class _Box(AnswerForm):
    x1: int
    y1: int
    x2: int
    y2: int


class _Boxes(AnswerForm):
    boxes: tuple[_Box, ...] = Field(max_length=_MAX_BOXES)


async def count_object(args: CountArguments, call: HostCall) -> ToolResult:
    """Return the count as a whole number in digits."""
    shown = await media.picture(call, args.image, args.bbox)
    question = (
        f"Count in this picture: {args.text}\nCount each one once, also those that are partly "
        'hidden or cut off. Answer with JSON only, such as {"count": 3}.'
    )
    found = await filled(call, question, shown, _Count, _COUNT_SCHEMA)
    return ToolResult(text=str(found.count))


async def text_to_bbox(args: TextToBboxArguments, call: HostCall) -> ToolResult:
    """Return the box of the best match, or of each match on a line of its own."""
    shown = await media.picture(call, args.image)
    width, height = shown.sent_size
    asked = "the one that fits best" if args.top1 else "each one, best first"
    question = (
        f"Find in this picture: {args.text}\nGive the tight box around {asked}. The picture is "
        f"{width} pixels wide and {height} high; x counts pixels from its left edge, y from its "
        'top. Answer with JSON only, such as {"boxes": [{"x1": 10, "y1": 20, "x2": 60, "y2": 80}]}'
        ', and {"boxes": []} if there is none.'
    )
    found = await filled(call, question, shown, _Boxes, _BOXES_SCHEMA)
    if not found.boxes:
        raise ToolRefused(f"{args.text!r} was not found in {args.image}.")
    boxes = found.boxes[:1] if args.top1 else found.boxes
    for box in boxes:
        if not (0 <= box.x1 < box.x2 <= width and 0 <= box.y1 < box.y2 <= height):
            raise ToolRefused(
                f"The model behind {call.tool} gave a box outside the image; ask again in other "
                "words."
            )
    lines = (str(shown.in_file((box.x1, box.y1, box.x2, box.y2))) for box in boxes)
    return ToolResult(text="\n".join(lines))


TOOLS = (
    HostDefinition(
        name="CountGivenObject",
        description="Count the objects of one kind in an image, or in a region of it.",
        category=Capability.LOGIC,
        arguments=CountArguments,
        run=count_object,
        backend="the configured multimodal model",
        needs=Service.VISION,
    ),
    HostDefinition(
        name="TextToBbox",
        description="Find what is named in words in an image; gives its box in pixels.",
        category=Capability.PERCEPTION,
        arguments=TextToBboxArguments,
        run=text_to_bbox,
        backend="the configured multimodal model",
        needs=Service.VISION,
    ),
)
