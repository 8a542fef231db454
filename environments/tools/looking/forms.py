"""What the part in the sandbox is asked, and what it answers; imports nothing heavy."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from environments.renderers.pages.formats import BROWSED, PAGED, VIDEOS

MAX_PAGES = 4
"""Most pages or frames of one view."""
PAGES = PAGED | BROWSED
MOVING = VIDEOS | {".mov", ".mkv", ".avi"}

Noun = Literal["page", "slide", "sheet", "screen", "frame", "picture"]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LookRequest(_Form):
    """Draw files of the workspace."""

    paths: tuple[str, ...]
    page: int = 1
    """The first page, from 1."""
    count: int = 1
    """How many pages of a document, or frames of a video."""
    second: float | None = None
    """Where the first frame of a video is; None: frames at equal distances."""


class Look(_Form):
    """One page, frame or picture."""

    label: str = Field(max_length=100)
    """Such as `slide 2` or `at 3.5 s`; empty of a picture."""
    media_type: Literal["image/png", "image/jpeg"]
    data: str = Field(max_length=2_000_000)
    """Base64."""
    width: int = Field(ge=1, le=20_000)
    height: int = Field(ge=1, le=20_000)
    words: str = Field(default="", max_length=20_000)
    """The text on it, as far as the file says it."""


class Viewed(_Form):
    """What became of one file."""

    refused: str | None = Field(default=None, max_length=2_000)
    noun: Noun = "picture"
    total: int = Field(default=1, ge=0, le=1_000_000)
    """Pages, or 1."""
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Length of a video."""
    size: str = Field(default="", max_length=100)
    """Of a picture in the file, such as `4000 x 3000 pixels`: what is shown may be smaller."""
    looks: tuple[Look, ...] = Field(default=(), max_length=MAX_PAGES)


class LookReply(_Form):
    """One answer for each path."""

    viewed: tuple[Viewed, ...]
