"""TextToImage and TextToVideoTool: media generated from words (GTA, B.1; GTA-2, table 17)."""

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.services import Service
from environments.tools.models import media
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_PROMPT_CHARS = 4_000


class TextToImageArguments(Arguments):
    """Arguments of TextToImage."""

    keywords: str = Field(
        min_length=1,
        max_length=_MAX_PROMPT_CHARS,
        description="What the image shows and how, such as: lighthouse, storm, oil painting.",
    )
    path: str | None = Field(
        default=None,
        min_length=1,
        description="PNG or JPEG to write below output/; named after the words by default.",
    )


class TextToVideoArguments(Arguments):
    """Arguments of TextToVideoTool."""

    prompt: str = Field(
        min_length=1, max_length=_MAX_PROMPT_CHARS, description="What happens in the video."
    )
    path: str | None = Field(
        default=None,
        min_length=1,
        description="MP4 to write below output/; named after the words by default.",
    )


async def text_to_image(args: TextToImageArguments, call: HostCall) -> ToolResult:
    """Write a picture that a model generates."""
    media.require_place("picture", args.path)
    made = await call.draw(args.keywords)
    return await media.keep(call, "picture", made.data, args.path, args.keywords)


async def text_to_video(args: TextToVideoArguments, call: HostCall) -> ToolResult:
    """Write a short video that a model generates."""
    media.require_place("clip", args.path)
    made = await call.film(args.prompt)
    return await media.keep(call, "clip", made.data, args.path, args.prompt)


TOOLS = (
    HostDefinition(
        name="TextToImage",
        description="Generate an image from words and write it below output/.",
        category=Capability.CREATIVITY,
        arguments=TextToImageArguments,
        run=text_to_image,
        backend="the configured image model",
        needs=Service.IMAGES,
    ),
    HostDefinition(
        name="TextToVideoTool",
        description="Generate a short video from words and write it below output/.",
        category=Capability.CREATIVITY,
        arguments=TextToVideoArguments,
        run=text_to_video,
        backend="the configured video model",
        needs=Service.VIDEOS,
        modules=("imageio_ffmpeg",),
        extra="tools-vision",
    ),
)
