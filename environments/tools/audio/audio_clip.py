"""AudioClipTool: cuts a part out of a sound, exact to the sample, optionally with fades."""

from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.audio.sounds import ENCODERS
from environments.tools.media.ffmpeg import media_input, write
from environments.tools.media.parts import (
    AUDIO_ENDINGS,
    AudioPath,
    AudioResultPath,
    EndTime,
    Part,
    Seconds,
    StartTime,
    part_of,
    result_file,
)
from environments.tools.media.tracks import open_sound
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult


class AudioClipToolArguments(Arguments):
    """Arguments of AudioClipTool."""

    audio: AudioPath
    start_time: StartTime = 0.0
    end_time: EndTime = None
    fade_in: Seconds = Field(default=0.0, description="Seconds in which the clip gets loud.")
    fade_out: Seconds = Field(default=0.0, description="Seconds in which it dies away.")
    path: AudioResultPath = None


def clip_audio(args: AudioClipToolArguments, workspace: Path) -> ToolResult:
    """Write the part between the two times; the ending of the path determines the format."""
    media, track = open_sound(workspace, args.audio)
    part = part_of(args.audio, track.seconds, args.start_time, args.end_time)
    if args.fade_in + args.fade_out > part.seconds:
        raise ToolRefused(
            f"fade_in and fade_out take {args.fade_in + args.fade_out:.2f} s together, but the "
            f"clip lasts {part.seconds:.2f} s."
        )
    target, path = result_file(workspace, args.path, args.audio, "clip", AUDIO_ENDINGS)
    filters = _filters(part, args.fade_in, args.fade_out)
    encoder = ENCODERS[target.suffix.lower()]
    options = ("-map", "0:a:0", "-af", filters, "-map_metadata", "-1", *encoder)
    write([*media_input(media.source), *options], target, args.audio)
    fades = [
        f"{seconds:g} s of fade {way}"
        for seconds, way in ((args.fade_in, "in"), (args.fade_out, "out"))
        if seconds
    ]
    return ToolResult(
        text=f"Wrote {path}: {part.seconds:.2f} s, from {part} of the {track.seconds:.2f} s of "
        f"{args.audio}{''.join(f', {fade}' for fade in fades)}."
    )


def _filters(part: Part, fade_in: float, fade_out: float) -> str:
    # Seeking in a file without an index is inexact, so everything before the start is decoded.
    steps = [f"atrim=start={part.start:.6f}:end={part.end:.6f}", "asetpts=PTS-STARTPTS"]
    if fade_in:
        steps.append(f"afade=t=in:st=0:d={fade_in:.6f}")
    if fade_out:
        steps.append(f"afade=t=out:st={part.seconds - fade_out:.6f}:d={fade_out:.6f}")
    return ",".join(steps)


TOOLS = (
    ToolDefinition(
        name="AudioClipTool",
        description=(
            "Cut a part out of a sound file, from start_time to end_time in seconds, with fades "
            "if wanted. It also converts: the ending of path decides the format."
        ),
        category=Capability.OPERATION,
        arguments=AudioClipToolArguments,
        run=clip_audio,
        backend="ffmpeg",
        paging="Cut a shorter file.",
        modules=("imageio_ffmpeg",),
        extra="tools-audio",
    ),
)
