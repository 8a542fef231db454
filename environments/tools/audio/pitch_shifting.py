"""PitchShifting: raises or lowers a sound by semitones without changing its length.

The sound is played faster or slower and then brought back to its length by overlapping similar
waves (WSOLA); a tone ends up within a few cents of its new pitch.
"""

import math
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.audio.sounds import ENCODERS, HIGHEST_RATE, MAX_SECONDS
from environments.tools.media.ffmpeg import media_input, write
from environments.tools.media.parts import (
    AUDIO_ENDINGS,
    AudioPath,
    AudioResultPath,
    result_file,
)
from environments.tools.media.tracks import Track, open_sound
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_SEMITONES_PER_OCTAVE = 12
_MAX_SEMITONES = 36
_SPARE_SECONDS = 0.5


class PitchShiftingArguments(Arguments):
    """Arguments of PitchShifting."""

    audio: AudioPath
    n_steps: float = Field(
        ge=-_MAX_SEMITONES,
        le=_MAX_SEMITONES,
        description="Semitones: 12 is an octave up, -12 an octave down; fractions are allowed.",
    )
    path: AudioResultPath = None


def shift_pitch(args: PitchShiftingArguments, workspace: Path) -> ToolResult:
    """Write the sound with every frequency multiplied by 2 to the power of n_steps / 12."""
    media, track = open_sound(workspace, args.audio)
    if track.seconds > MAX_SECONDS:
        raise ToolRefused(
            f"{args.audio} lasts {track.seconds:.0f} s: at most {MAX_SECONDS} s can be shifted at "
            "once. Cut a part with AudioClipTool first."
        )
    ratio = 2 ** (args.n_steps / _SEMITONES_PER_OCTAVE)
    target, path = result_file(workspace, args.path, args.audio, "pitch", AUDIO_ENDINGS)
    options = ("-map", "0:a:0", "-af", _filters(track, ratio), "-map_metadata", "-1")
    encoder = ENCODERS[target.suffix.lower()]
    write([*media_input(media.source), *options, *encoder], target, args.audio)
    return ToolResult(
        text=f"Wrote {path}: {args.audio} shifted by {args.n_steps:+g} semitones (frequencies "
        f"times {ratio:.4f}), still {track.seconds:.2f} s long."
    )


def _filters(track: Track, ratio: float) -> str:
    """Return the filters: change of speed, then restoring the length."""
    rate = min(track.sample_rate, HIGHEST_RATE)
    # One step of atempo can at most double the length.
    steps = max(1, math.ceil(math.log2(ratio)))
    slower = ",".join([f"atempo={ratio ** (-1 / steps):.9f}"] * steps)
    return (
        f"apad=pad_dur={_SPARE_SECONDS},aresample={rate},asetrate={round(rate * ratio)},"
        f"aresample={rate},{slower},atrim=end={track.seconds:.6f}"
    )


TOOLS = (
    ToolDefinition(
        name="PitchShifting",
        description=(
            "Make a sound higher or lower by a number of semitones without changing its duration."
        ),
        category=Capability.OPERATION,
        arguments=PitchShiftingArguments,
        run=shift_pitch,
        backend="ffmpeg",
        paging="Shift a shorter file.",
        modules=("imageio_ffmpeg",),
        extra="tools-audio",
    ),
)
