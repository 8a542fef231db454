"""MathOCR: a printed formula as LaTeX, and in the plain form that Solver reads."""

from collections.abc import Sequence
from pathlib import Path

from environments.tools.images.pictures import ImagePath, flat, open_picture
from environments.tools.images.recognition.formula.grammar import fault, plain_form
from environments.tools.images.recognition.formula.layout import Row, structure
from environments.tools.images.recognition.formula.signs import MAX_SIGNS, Sign, read_signs
from environments.tools.images.recognition.formula.wording import NoPlainForm, latex
from environments.tools.toolkit import Arguments, ToolDefinition
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_LIKELY = 0.8
_MOST_UNLIKELY = 0.2


class MathOCRArguments(Arguments):
    """Arguments of MathOCR."""

    image: ImagePath


def math_ocr(args: MathOCRArguments, workspace: Path) -> ToolResult:
    """Return the LaTeX of the one formula in the picture; refuses what does not read as one."""
    signs = read_signs(flat(open_picture(workspace, args.image)))
    unlikely = [sign for sign in signs if sign.likeness < _LIKELY]
    if len(signs) > MAX_SIGNS or len(unlikely) > _MOST_UNLIKELY * len(signs):
        raise ToolRefused(
            f"{args.image} does not read as a printed formula: {len(unlikely)} of {len(signs)} "
            "marks look like no sign of mathematics. Cut out the formula, or read text with OCR."
        )
    row = structure(signs)
    written = latex(row)
    wrong = fault(row)
    if wrong:
        raise ToolRefused(
            f"{args.image} does not read as a formula: {wrong}. It looks like {written[:300]!r}. "
            "Cut out a single formula, or read text with OCR."
        )
    lines = [f"LaTeX: {written}", _plain_line(row), *_doubts(unlikely)]
    return ToolResult(text="\n".join(lines))


def _plain_line(row: Row) -> str:
    try:
        return f"Plain: {plain_form(row)}"
    except NoPlainForm as exc:
        return f"Plain: none, since it has {exc}"


def _doubts(unlikely: Sequence[Sign]) -> list[str]:
    if not unlikely:
        return []
    signs = ", ".join(f"{sign.name} at {sign.box}" for sign in unlikely)
    return [f"Unsure signs: {signs}"]


TOOLS = (
    ToolDefinition(
        name="MathOCR",
        description=(
            "Read one printed formula as LaTeX and, where it has one, in the plain form that "
            "Solver takes. It compares signs with the usual mathematical fonts and knows "
            "fractions, roots, powers, indices, sums, integrals, limits and Greek letters; not "
            "handwriting, matrices, accents or several lines."
        ),
        category=Capability.LOGIC,
        arguments=MathOCRArguments,
        run=math_ocr,
        backend="OpenCV",
        paging="Cut out the formula.",
        modules=("cv2",),
        extra="tools-vision",
    ),
)
