"""VideoClip: a part of a video with its sound, cut at the requested frames."""

from pathlib import Path

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.media.ffmpeg import media_input, write
from environments.tools.media.parts import (
    VIDEO_ENDINGS,
    EndTime,
    StartTime,
    VideoPath,
    VideoResultPath,
    part_of,
    result_file,
)
from environments.tools.media.tracks import open_video
from environments.tools.video.frames import ENCODERS, EVEN_SIDES, refuse_long, video_text
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult


class VideoClipArguments(Arguments):
    """Arguments of VideoClip."""

    video: VideoPath
    start_time: StartTime = 0.0
    end_time: EndTime = None
    path: VideoResultPath = None


def clip_video(args: VideoClipArguments, workspace: Path) -> ToolResult:
    """Write the part between the two times, encoded again to start at the requested frame."""
    media, track = open_video(workspace, args.video)
    part = part_of(args.video, track.seconds, args.start_time, args.end_time)
    refuse_long(media, track, part)
    target, path = result_file(workspace, args.path, args.video, "clip", VIDEO_ENDINGS)
    span = ("-ss", f"{part.start:.6f}", "-t", f"{part.seconds:.6f}")
    tracks = ("-map", "0:V:0", "-map", "0:a:0?", "-map_metadata", "-1", "-map_chapters", "-1")
    options = (*tracks, "-vf", EVEN_SIDES, *ENCODERS[target.suffix.lower()])
    write([*media_input(media.source, *span), *options], target, args.video)
    made, pictures = open_video(workspace, path)
    return ToolResult(
        text=f"Wrote {path}: {pictures.seconds:.2f} s, from {part} of the {track.seconds:.2f} s of "
        f"{args.video}, {video_text(pictures)}, {'with' if made.audio else 'without'} sound."
    )


TOOLS = (
    ToolDefinition(
        name="VideoClip",
        description=(
            "Cut a part out of a video, from start_time to end_time in seconds, with its sound. It "
            "also converts: the ending of path decides the format."
        ),
        category=Capability.OPERATION,
        arguments=VideoClipArguments,
        run=clip_video,
        backend="ffmpeg",
        paging="Cut a shorter part.",
        modules=("imageio_ffmpeg",),
        extra="tools-vision",
    ),
)
