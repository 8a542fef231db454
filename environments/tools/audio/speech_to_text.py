"""SpeechToText: English speech written down by PocketSphinx, whose models come with its package."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from pydantic import Field

from environments.tools.audio.sounds import Sound, read_sound
from environments.tools.media.parts import AudioPath, EndTime, Seconds, part_of
from environments.tools.media.tracks import open_sound
from environments.tools.toolkit import Arguments, ToolDefinition
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_RATE = 16_000
_MAX_SECONDS = 90
_FULL_SCALE = 32_767
_LEAST_SECONDS = 0.2


class SpeechToTextArguments(Arguments):
    """Arguments of SpeechToText."""

    audio: AudioPath
    start_time: Seconds = Field(default=0.0, description="Where to begin, in seconds.")
    end_time: EndTime = None


def transcribe(args: SpeechToTextArguments, workspace: Path) -> ToolResult:
    """Return one line for each utterance: its times and the words heard in it."""
    media, track = open_sound(workspace, args.audio)
    part = part_of(args.audio, track.seconds, args.start_time, args.end_time)
    if part.seconds > _MAX_SECONDS:
        raise ToolRefused(
            f"The part lasts {part.seconds:.0f} s: at most {_MAX_SECONDS} s are transcribed in one "
            f"call. Ask for start_time={part.start:g}, end_time={part.start + _MAX_SECONDS:g} "
            "first, and go on from there."
        )
    sound = read_sound(media, track, _RATE, 1, start=part.start, seconds=part.seconds)
    heard = list(_utterances(sound))
    head = f"{args.audio}, {part} of {track.seconds:.2f} s"
    if not heard:
        return ToolResult(text=f"{head}: no English speech was recognised.")
    lines = [
        f"{part.start + begin:.2f} to {part.start + end:.2f} s: {words}"
        for begin, end, words in heard
    ]
    title = f"{head}, as PocketSphinx heard it (expect wrong words):"
    return ToolResult(text="\n".join([title, *lines]))


def _utterances(sound: Sound) -> Iterator[tuple[float, float, str]]:
    """Yield begin, end and words of each stretch of speech in a mono sound of 16 kHz."""
    from pocketsphinx import Decoder, Segmenter

    if sound.seconds < _LEAST_SECONDS:
        return
    pcm = (sound.samples[0] * _FULL_SCALE).astype("<i2")
    decoder = Decoder(samprate=_RATE, loglevel="FATAL")
    for segment in Segmenter(sample_rate=_RATE).segment(BytesIO(pcm.tobytes())):
        decoder.start_utt()
        decoder.process_raw(segment.pcm, full_utt=True)
        decoder.end_utt()
        best = decoder.hyp()
        if best is not None and best.hypstr.strip():
            yield segment.start_time, min(sound.seconds, segment.end_time), best.hypstr.strip()


TOOLS = (
    ToolDefinition(
        name="SpeechToText",
        description=(
            "Write down English speech with PocketSphinx, a small offline recogniser from before "
            "neural networks: on clear speech about one word in four is wrong; names, accents, "
            "noise and music fare worse. Lower case, no punctuation, no other language. At most "
            f"{_MAX_SECONDS} s a call."
        ),
        category=Capability.PERCEPTION,
        arguments=SpeechToTextArguments,
        run=transcribe,
        backend="PocketSphinx",
        paging="Transcribe a shorter part with start_time and end_time.",
        modules=("imageio_ffmpeg", "pocketsphinx"),
        extra="tools-audio",
    ),
)
