"""Sounds as samples: decoded by ffmpeg within limits, encoded by the ending of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments.tools.media.ffmpeg import media_input, raw_input, reading, write
from environments.tools.media.tracks import Media, Track
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

MAX_SECONDS = 600
"""Longest sound that is held in memory, in seconds."""

HIGHEST_RATE = 48_000
"""Sounds with a higher sample rate are resampled to this one."""

_BYTES_PER_SAMPLE = 4
ENCODERS: Mapping[str, Sequence[str]] = {
    ".wav": ("-c:a", "pcm_s16le"),
    ".mp3": ("-c:a", "libmp3lame", "-q:a", "2"),
    ".flac": ("-c:a", "flac"),
    ".ogg": ("-c:a", "libvorbis", "-q:a", "6"),
    ".m4a": ("-c:a", "aac", "-b:a", "192k"),
}
"""How ffmpeg writes a sound file of each ending."""


@dataclass(frozen=True)
class Sound:
    """Samples between -1 and 1, one row for each channel."""

    samples: "Samples"
    rate: int
    """Samples per second."""

    @property
    def seconds(self) -> float:
        """Length of the sound in seconds."""
        return float(self.samples.shape[1] / self.rate)


def read_sound(
    media: Media,
    track: Track,
    rate: int | None = None,
    channels: int | None = None,
    start: float = 0.0,
    seconds: float | None = None,
) -> Sound:
    """Return the sound of `media` from `start` on, at most `seconds` of it.

    By default it keeps its rate, up to 48 kHz, and its channels, up to two. Raises `ToolRefused`
    for a sound that is longer than `MAX_SECONDS` or cannot be decoded.
    """
    import numpy as np

    asked = track.seconds - start
    if seconds is not None:
        asked = min(seconds, asked)
    if asked > MAX_SECONDS:
        raise ToolRefused(
            f"{media.path} lasts {track.seconds:.0f} s: at most {MAX_SECONDS} s can be worked on "
            "at once. Cut a part with AudioClipTool first."
        )
    rate = rate or min(track.sample_rate, HIGHEST_RATE)
    channels = channels or min(track.channels, 2)
    form = ("-map", "0:a:0", "-ac", str(channels), "-ar", str(rate), "-f", "f32le")
    cut = f"atrim=start={start:.6f}:duration={asked:.6f},asetpts=PTS-STARTPTS"
    most = round(MAX_SECONDS * rate) * channels * _BYTES_PER_SAMPLE
    with reading([*media_input(media.source), "-af", cut, *form], media.path) as stream:
        data = stream.read(most)
    whole = len(data) // (channels * _BYTES_PER_SAMPLE) * channels
    if not whole:
        raise ToolRefused(f"{media.path} holds no sound that can be decoded.")
    samples = np.frombuffer(data, dtype="<f4", count=whole).reshape(-1, channels).T
    return Sound(np.clip(np.nan_to_num(samples), -1, 1).astype(np.float32), rate)


def write_sound(sound: Sound, target: Path, path: str) -> None:
    """Write `sound` in the format of `target`'s ending; `path` is its name in refusals."""
    import numpy as np

    raw = np.ascontiguousarray(sound.samples.T, dtype="<f4").tobytes()
    form = ("-f", "f32le", "-ar", str(sound.rate), "-ac", str(sound.samples.shape[0]))
    write([*raw_input(*form), *ENCODERS[target.suffix.lower()]], target, path, raw)


def track_text(track: Track) -> str:
    """Return the form of a sound as `44100 Hz, stereo, mp3`."""
    return f"{track.sample_rate} Hz, {track.layout or 'unknown channels'}, {track.codec}"
