"""OCR: the printed text of a picture, with the position of each line."""

from pathlib import Path

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.pictures import ImagePath, flat, open_picture, size_text
from environments.tools.images.recognition.text_lines import read_page
from environments.tools.wording import cell_text, count_of
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_SURE = 0.8
_SECONDS = 45.0
"""Time for one call; a very dense page takes longer, and is then read in part."""
_PAGING = "Cut the image into parts and read them one by one."


class OCRArguments(Arguments):
    """Arguments of OCR."""

    image: ImagePath


def ocr(args: OCRArguments, workspace: Path) -> ToolResult:
    """Return one line per text found: its box and what it reads, from top to bottom."""
    picture = flat(open_picture(workspace, args.image))
    page = read_page(picture, _SECONDS)
    lines = page.lines
    head = f"{args.image}, {size_text(picture)}"
    if not lines and not page.unread:
        return ToolResult(text=f"{head}: no text was found.")
    shown = [
        f"{line.box} {cell_text(line.text)}{'' if line.confidence >= _SURE else ' [unsure]'}"
        for line in lines
    ]
    title = f"{head}: {count_of(len(lines), 'text')} as (x1, y1, x2, y2) text"
    if page.unread:
        shown.append(f"[{count_of(page.unread, 'more text')} found but not read. {_PAGING}]")
    return ToolResult(text="\n".join([title, *shown]))


TOOLS = (
    ToolDefinition(
        name="OCR",
        description=(
            "Read the printed text of an image, line by line with the box of each in pixels. It "
            "knows English and Chinese; most accented letters come out plain, and handwriting is "
            "unreliable."
        ),
        category=Capability.PERCEPTION,
        arguments=OCRArguments,
        run=ocr,
        backend="RapidOCR",
        paging=_PAGING,
        modules=("rapidocr_onnxruntime", "cv2"),
        extra="tools-vision",
    ),
)
