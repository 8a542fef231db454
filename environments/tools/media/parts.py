"""Parts of a recording as arguments, and the files that tools make of them."""

import re
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from environments.toolkit.definition import InputPath
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused

AUDIO_ENDINGS = (".wav", ".mp3", ".flac", ".ogg", ".m4a")
VIDEO_ENDINGS = (".mp4", ".webm", ".mov", ".mkv")

_CLOCK = re.compile(r"(?:(\d{1,2}):)?(\d{1,2}):(\d{1,2}(?:\.\d{1,6})?)")
_MAX_STEM_CHARS = 60
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_SHORTEST = 0.01


def _seconds(value: Any) -> Any:
    clock = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if clock is None:
        return value
    hours, minutes, seconds = clock.groups()
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)


Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, allow_inf_nan=False)]
"""A time in seconds; `1:30` is read as 90."""

AudioPath = Annotated[
    InputPath,
    Field(description="Path of a sound file, or of a video for its sound, such as input/a.mp3."),
]
VideoPath = Annotated[InputPath, Field(description="Path of the video, such as input/a.mp4.")]
StartTime = Annotated[Seconds, Field(description="Where the part begins, in seconds.")]
EndTime = Annotated[
    Seconds | None, Field(description="Where it ends, in seconds; the end of the file by default.")
]
AudioResultPath = Annotated[
    str | None,
    Field(
        min_length=1,
        description=(
            f"File to write below output/, one of {', '.join(AUDIO_ENDINGS)}; named after the "
            "input by default."
        ),
    ),
]
VideoResultPath = Annotated[
    str | None,
    Field(
        min_length=1,
        description=(
            f"File to write below output/, one of {', '.join(VIDEO_ENDINGS)}; named after the "
            "input by default."
        ),
    ),
]


class Part(NamedTuple):
    """A part of a recording, in seconds from its beginning."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Length of the part."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:.2f} to {self.end:.2f} s"


def part_of(path: str, whole: float, start: float, end: float | None) -> Part:
    """Return the requested part of a recording of `whole` seconds; its end is cut to the end.

    Raises `ToolRefused` for a part that is empty or begins after the end.
    """
    if start >= whole:
        raise ToolRefused(f"{path} lasts {whole:.2f} s: nothing of it begins at {start:.2f} s.")
    part = Part(start, whole if end is None else min(end, whole))
    if part.seconds < _SHORTEST:
        raise ToolRefused(f"The part from {part} is empty: end_time must be after start_time.")
    return part


def result_file(
    workspace: Path, path: str | None, source: str, suffix: str, endings: tuple[str, ...]
) -> tuple[Path, str]:
    """Return where to write what is made from `source`, and the path to report.

    Without `path` it is `output/<name of source>_<suffix>`, numbered if that exists, with the
    ending of `source` if it is one of `endings`, else the first of them.
    """
    if path is not None:
        return output_file(workspace, path, endings), path
    name = PurePosixPath(source)
    ending = name.suffix.lower() if name.suffix.lower() in endings else endings[0]
    stem = _NOT_IN_NAMES.sub("_", name.stem)[:_MAX_STEM_CHARS] or "recording"
    for number in count(1):
        derived = f"output/{stem}_{suffix}{'' if number == 1 else f'_{number}'}{ending}"
        target = output_file(workspace, derived)
        if not target.exists():
            return target, derived
    raise AssertionError("counting never ends")
