"""Sound files: length, level, and level over time."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from environments.renderers.limits import (
    MAX_FILE_BYTES,
    MAX_SAMPLES,
    MAX_SOUND_SECONDS,
    PREVIEW_PIXELS,
    Unreadable,
    refuse_beyond,
)
from taskdata.schema.views import AudioView

_FORMATS = {
    ".wav": ("WAV", "WAVEX", "RF64"),
    ".mp3": ("MP3", "MPEG"),
    ".flac": ("FLAC",),
    ".ogg": ("OGG",),
}
"""Names that libsndfile gives to the formats, by file ending."""
_WINDOWS_PER_SECOND = 10
_PREVIEW_HEIGHT = 120


def read_audio(path: Path) -> AudioView:
    """Return level and length of a WAV, MP3, FLAC or OGG file."""
    refuse_beyond(path.stat().st_size, MAX_FILE_BYTES, "bytes")
    formats = _FORMATS[path.suffix.lower()]
    try:
        sound = soundfile.SoundFile(path)
    except soundfile.LibsndfileError as exc:
        raise Unreadable(f"its content is not that of a {formats[0]} file: {exc}") from exc
    with sound:
        if sound.format not in formats:
            raise Unreadable(f"its content is {sound.format}, not {formats[0]}")
        seconds = sound.frames / sound.samplerate
        refuse_beyond(seconds, MAX_SOUND_SECONDS, "seconds")
        refuse_beyond(sound.frames * sound.channels, MAX_SAMPLES, "samples")
        refuse_beyond(sound.samplerate, 768_000, "samples a second")
        window = max(1, sound.samplerate // _WINDOWS_PER_SECOND)
        peak, energy, frames = 0.0, 0.0, 0
        envelope = []
        for block in _blocks(sound, window):
            peak = max(peak, float(np.abs(block).max(initial=0.0)))
            mixed = block.mean(axis=1)
            energy += float((mixed**2).sum())
            frames += len(mixed)
            envelope.append(math.sqrt(float((mixed**2).mean())))
        if not math.isfinite(peak) or not math.isfinite(energy):
            raise Unreadable("it holds samples that are not numbers")
        return AudioView(
            seconds=frames / sound.samplerate,
            sample_rate=sound.samplerate,
            channels=sound.channels,
            peak=peak,
            rms=math.sqrt(energy / frames) if frames else 0.0,
            envelope=tuple(envelope),
        )


def _blocks(sound: soundfile.SoundFile, window: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the sound in windows of so many frames, a column for each channel."""
    if sound.format not in _FORMATS[".mp3"]:
        yield from sound.blocks(blocksize=window, dtype="float64", always_2d=True)
        return
    # Of an MP3 file that is read in several calls, libsndfile 1.2.2 leaves parts out as silence.
    whole = sound.read(dtype="float32", always_2d=True)
    for start in range(0, len(whole), window):
        yield whole[start : start + window].astype(np.float64)


def preview_audio(view: AudioView) -> bytes:
    """Return a small PNG of the volume over time."""
    from PIL import Image, ImageDraw

    from environments.renderers.media.image import small_png

    picture = Image.new("RGB", (PREVIEW_PIXELS, _PREVIEW_HEIGHT), "white")
    draw = ImageDraw.Draw(picture)
    middle = _PREVIEW_HEIGHT // 2
    loudest = max(view.envelope, default=0.0) or 1.0
    for x in range(PREVIEW_PIXELS if view.envelope else 0):
        level = view.envelope[x * len(view.envelope) // PREVIEW_PIXELS] / loudest
        half = round(level * (middle - 4))
        draw.line((x, middle - half, x, middle + half), fill=(46, 94, 170))
    return small_png(picture)
