"""SoundCharacteristicExtraction: measurements of a sound, each with its unit."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.audio.music import key_of, note_name, onsets, pitches, rises, tempo
from environments.tools.audio.sounds import read_sound, track_text
from environments.tools.audio.spectra import (
    RATE,
    centroid_and_rolloff,
    cepstrum,
    in_pieces,
    mel_decibels,
    zero_crossings,
)
from environments.tools.media.ffmpeg import media_input, reading
from environments.tools.media.parts import AudioPath
from environments.tools.media.tracks import Media, Track, open_sound
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Samples = NDArray[np.float32]

_COEFFICIENTS = 13
_MAX_ONSETS_SHOWN = 40
_LOUDNESS_LINE = b"lavfi.r128.I="
_NOT_MEASURED_LUFS = -70.0
_CLEAR_KEY = 0.6


class SoundCharacteristicExtractionArguments(Arguments):
    """Arguments of SoundCharacteristicExtraction."""

    audio: AudioPath


def extract_characteristics(
    args: SoundCharacteristicExtractionArguments, workspace: Path
) -> ToolResult:
    """Return one line for each characteristic: name, value, unit."""
    media, track = open_sound(workspace, args.audio)
    sound = read_sound(media, track)
    samples = read_sound(media, track, RATE, 1).samples[0]
    bands = mel_decibels(samples)
    lines = [
        f"{args.audio}: {sound.seconds:.2f} s, {track_text(track)}",
        *_loudness_lines(media, track, sound.samples),
        *_musical_lines(samples, bands),
        *_spectral_lines(samples, bands),
    ]
    return ToolResult(text="\n".join(lines))


def _loudness_lines(media: Media, track: Track, samples: "NDArray[np.float32]") -> Iterator[str]:
    import numpy as np

    loudness = _loudness(media, track)
    shown = "too short or too quiet to measure"
    if loudness is not None:
        shown = f"{loudness:.1f} LUFS"
    yield f"loudness (integrated, EBU R 128): {shown}"
    power = float(np.square(samples, dtype=np.float64).mean())
    yield f"level (RMS): {_decibels(math.sqrt(power))}"
    yield f"peak: {_decibels(float(np.abs(samples).max()))}"


def _decibels(amplitude: float) -> str:
    return f"{20 * math.log10(amplitude):.1f} dBFS" if amplitude > 0 else "digital silence"


def _loudness(media: Media, track: Track) -> float | None:
    measured = "ebur128=metadata=1,ametadata=mode=print:key=lavfi.r128.I:file=pipe\\\\:1"
    span = ("-t", f"{track.seconds:.6f}")
    options = ("-map", "0:a:0", *span, "-af", measured, "-f", "null")
    loudness = _NOT_MEASURED_LUFS
    with reading([*media_input(media.source), *options], media.path) as lines:
        for line in lines:
            if line.startswith(_LOUDNESS_LINE):
                loudness = float(line.removeprefix(_LOUDNESS_LINE))
    return loudness if loudness > _NOT_MEASURED_LUFS else None


def _musical_lines(samples: "Samples", bands: "Values") -> Iterator[str]:
    import numpy as np

    found = pitches(samples)
    voiced = found[~np.isnan(found)]
    share = f"{voiced.size / found.size:.0%} of the time"
    if voiced.size:
        low, middle, high = np.percentile(voiced, (5, 50, 95))
        yield (
            f"pitch: median {middle:.1f} Hz ({note_name(middle)}), mostly {low:.1f} to "
            f"{high:.1f} Hz, heard {share}"
        )
    else:
        yield "pitch: none between 50 and 2000 Hz"
    rise = rises(bands)
    begins = onsets(rise)
    beats = tempo(rise, begins.size)
    yield f"tempo: {f'{beats:.1f} BPM (estimate)' if beats else 'no regular beat found'}"
    yield _onset_line(begins)
    key = key_of(samples)
    if key is None or key.correlation < _CLEAR_KEY:
        yield "key: none that is clear"
    else:
        yield f"key: {key.name} (estimate, correlation {key.correlation:.2f})"


def _onset_line(begins: "Values") -> str:
    if not begins.size:
        return "onsets: none"
    shown = ", ".join(f"{begin:.2f}" for begin in begins[:_MAX_ONSETS_SHOWN])
    more = f" and {begins.size - _MAX_ONSETS_SHOWN} more" * (begins.size > _MAX_ONSETS_SHOWN)
    return f"onsets: {begins.size}, at {shown}{more} s"


def _spectral_lines(samples: "Samples", bands: "Values") -> Iterator[str]:
    centre, rolloff = in_pieces(samples, centroid_and_rolloff).T
    yield _mean_line("spectral centroid", centre, "Hz")
    yield _mean_line("spectral rolloff (85 %)", rolloff, "Hz")
    crossings = in_pieces(samples, zero_crossings, mode="edge")
    yield (
        f"zero crossing rate: mean {crossings.mean():.4f} per sample at {RATE} Hz "
        f"({crossings.mean() * RATE:.0f} per second), variance {crossings.var():.3g}"
    )
    coefficients = cepstrum(bands, _COEFFICIENTS)
    for name, values in (
        ("mean in dB", coefficients.mean(axis=0)),
        ("variance in dB²", coefficients.var(axis=0)),
    ):
        shown = ", ".join(f"{value:.2f}" for value in values)
        yield f"MFCC 1 to {_COEFFICIENTS}, {name}: {shown}"


def _mean_line(name: str, values: "Values", unit: str) -> str:
    return f"{name}: mean {values.mean():.1f} {unit}, variance {values.var():.4g} {unit}²"


TOOLS = (
    ToolDefinition(
        name="SoundCharacteristicExtraction",
        description=(
            "Measure a sound: duration, loudness, level, peak, pitch, tempo, onsets, key, spectral "
            "centroid and rolloff, zero crossing rate and MFCC, each with its unit. Pitch is meant "
            "for one voice or instrument; tempo and key are estimates. At most 600 s."
        ),
        category=Capability.PERCEPTION,
        arguments=SoundCharacteristicExtractionArguments,
        run=extract_characteristics,
        backend="ffmpeg and SciPy",
        paging="Measure a shorter file.",
        modules=("imageio_ffmpeg",),
        extra="tools-audio",
    ),
)
