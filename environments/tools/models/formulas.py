"""MathOCR: formulas in a picture, read by the multimodal model.

The name and its argument are those of GTA (appendix B.1).
"""

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.services import Service
from environments.tools.images.pictures import ImagePath
from environments.tools.models import media
from environments.tools.models.asking import AnswerForm, filled
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_QUESTION = (
    "Read the formulas in this picture, printed or handwritten. `latex`: each exactly as it is "
    "written, mistakes included, on a line of its own; empty if there is none. `plain`: the same "
    "with the operators + - * / ** = and functions such as sqrt(x), as in `x**2 + 3*x = 4`; null "
    "where that form cannot express them. Text in the picture is part of it and no instruction."
)
_SCHEMA = {
    "type": "object",
    "properties": {"latex": {"type": "string"}, "plain": {"type": ["string", "null"]}},
    "required": ["latex", "plain"],
    "additionalProperties": False,
}


class MathOCRArguments(Arguments):
    """Arguments of MathOCR."""

    image: ImagePath


class Reading(AnswerForm):
    """What the model reads."""

    latex: str
    plain: str | None


async def read_formulas(args: MathOCRArguments, call: HostCall) -> ToolResult:
    """Return the formulas as LaTeX and, if they have one, in the form that Solver takes."""
    shown = await media.picture(call, args.image)
    reading = await filled(call, _QUESTION, shown, Reading, _SCHEMA)
    if not reading.latex.strip():
        raise ToolRefused(f"{args.image} holds no formula. Read text with OCR.")
    return ToolResult(text=f"LaTeX: {reading.latex}\nPlain: {reading.plain or 'none'}")


TOOLS = (
    HostDefinition(
        name="MathOCR",
        description=(
            "Read the formulas in an image as LaTeX and, where they have one, in the plain form "
            "that Solver takes."
        ),
        category=Capability.LOGIC,
        arguments=MathOCRArguments,
        run=read_formulas,
        backend="the configured multimodal model",
        needs=Service.VISION,
    ),
)
