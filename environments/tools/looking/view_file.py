"""view_file: shows the agent how a file looks: a page, a frame of a video, a picture."""

from pydantic import Field

from environments.toolkit.definition import Arguments, InputPath
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.tools.looking.forms import MAX_PAGES, LookRequest, Viewed
from environments.tools.looking.look import look_at, pictures_of
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

VIEW_FILE = "view_file"


class ViewArguments(Arguments):
    """Arguments of view_file."""

    path: InputPath
    page: int = Field(
        default=1,
        ge=1,
        le=100_000,
        description="First page, slide, sheet or screen to show, from 1.",
    )
    count: int = Field(
        default=1,
        ge=1,
        le=MAX_PAGES,
        description=f"How many pages to show, or frames of a video; at most {MAX_PAGES}.",
    )
    second: float | None = Field(
        default=None,
        ge=0,
        le=100_000,
        description="Of a video: where to begin, with a frame each second; by default frames are "
        "spread over its length.",
    )


async def view_file(args: ViewArguments, call: HostCall) -> ToolResult:
    """Return pictures of the file; raises `ToolRefused` if it cannot be drawn."""
    request = LookRequest(paths=(args.path,), page=args.page, count=args.count, second=args.second)
    (viewed,) = await look_at(call.sandbox, request)
    if viewed.refused is not None:
        raise ToolRefused(viewed.refused)
    pictures = pictures_of(args.path, viewed)
    if not pictures:
        raise ToolRefused(f"{args.path} could not be drawn.")
    return ToolResult(text=_told(args, viewed), pictures=pictures)


def _told(args: ViewArguments, viewed: Viewed) -> str:
    shown = ", ".join(look.label for look in viewed.looks if look.label)
    if viewed.noun == "picture":
        return f"{args.path}: a picture of {viewed.size}."
    if viewed.noun == "frame":
        return f"{args.path}: a video of {viewed.seconds:.1f} s, {shown}."
    nouns = viewed.noun if viewed.total == 1 else f"{viewed.noun}s"
    return f"{args.path} has {viewed.total} {nouns}; drawn: {shown}."


TOOLS = (
    HostDefinition(
        name=VIEW_FILE,
        description=(
            "Look at a file as a person would see it: pages of DOCX, PPTX, XLSX, PDF, HTML or SVG "
            "are drawn, frames of a video or a picture are shown. Use it to check what you made."
        ),
        category=Capability.PERCEPTION,
        arguments=ViewArguments,
        run=view_file,
        backend="LibreOffice, pdfium, Chromium and ffmpeg in the sandbox",
        paging="Ask for fewer pages.",
    ),
)
