"""NoiseReduction: removes steady noise by spectral gating, like the published tool.

The noise profile is taken from a stretch with nothing but noise. Taken from the whole file, as the
library does by default, sustained notes would count as noise and be removed too.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.audio.sounds import HIGHEST_RATE, Sound, read_sound, write_sound
from environments.tools.media.parts import (
    AUDIO_ENDINGS,
    AudioPath,
    AudioResultPath,
    Part,
    Seconds,
    part_of,
    result_file,
)
from environments.tools.media.tracks import open_sound
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PROFILE_SECONDS = 0.3
_LEAST_PROFILE_SECONDS = 0.1
_STEPS_PER_PROFILE = 6
_CLEARLY_QUIETER_DB = 6.0
_SILENT_DB = -120.0
_LOWEST_RATE = 8_000
"""Below this rate the library's frames are longer than the time over which it smooths."""
_SMOOTHED_HZ = 100
"""The library's default of 500 Hz would weaken every single tone."""


class NoiseReductionArguments(Arguments):
    """Arguments of NoiseReduction."""

    audio: AudioPath
    noise_start: Seconds | None = Field(
        default=None,
        description="Where a stretch of noise alone begins, in seconds; the quietest 0.3 s "
        "by default.",
    )
    noise_end: Seconds | None = Field(default=None, description="Where that stretch ends.")
    strength: float = Field(
        default=1.0, gt=0, le=1, description="Share of the noise that is taken out."
    )
    path: AudioResultPath = None


def reduce_noise(args: NoiseReductionArguments, workspace: Path) -> ToolResult:
    """Write the sound without the noise and report how much quieter its noise stretch is."""
    media, track = open_sound(workspace, args.audio)
    sound = read_sound(media, track, rate=min(max(track.sample_rate, _LOWEST_RATE), HIGHEST_RATE))
    noise = _noise_part(args, sound)
    target, path = result_file(workspace, args.path, args.audio, "denoised", AUDIO_ENDINGS)
    cleaned = _gated(sound, noise, args.strength)
    write_sound(cleaned, target, path)
    before, after = (level_db(_cut(each, noise)) for each in (sound, cleaned))
    lines = [
        f"Wrote {path}: {cleaned.seconds:.2f} s with steady noise reduced.",
        f"noise learned from {noise}: {before:.1f} dBFS there before, {after:.1f} dBFS after",
    ]
    if level_db(sound.samples) - before < _CLEARLY_QUIETER_DB:
        lines.append(
            "note: that stretch is nearly as loud as the whole, so sounds that last may have been "
            "taken for noise; name a stretch of noise alone with noise_start and noise_end."
        )
    return ToolResult(text="\n".join(lines))


def _noise_part(args: NoiseReductionArguments, sound: Sound) -> Part:
    if args.noise_start is None and args.noise_end is None:
        return quietest_part(sound)
    part = part_of(args.audio, sound.seconds, args.noise_start or 0.0, args.noise_end)
    if part.seconds < _LEAST_PROFILE_SECONDS:
        raise ToolRefused(
            f"The noise stretch lasts {part.seconds:.2f} s: at least {_LEAST_PROFILE_SECONDS} s "
            "are needed to learn it."
        )
    return part


def quietest_part(sound: Sound) -> Part:
    """Return the 0.3 s with the least energy, ignoring digital silence."""
    import numpy as np

    if sound.seconds <= _PROFILE_SECONDS:
        return Part(0.0, sound.seconds)
    step = max(1, round(_PROFILE_SECONDS / _STEPS_PER_PROFILE * sound.rate))
    energy = np.square(sound.samples, dtype=np.float64).mean(axis=0)
    blocks = energy[: energy.size // step * step].reshape(-1, step).mean(axis=1)
    windows = np.convolve(blocks, np.full(_STEPS_PER_PROFILE, 1 / _STEPS_PER_PROFILE), "valid")
    if not windows.size:
        return Part(0.0, sound.seconds)
    windows[windows < 10 ** (_SILENT_DB / 10)] = math.inf
    begin = int(windows.argmin()) * step / sound.rate
    return Part(begin, begin + _PROFILE_SECONDS)


def _gated(sound: Sound, noise: Part, strength: float) -> Sound:
    import numpy as np
    from noisereduce import reduce_noise as gate

    cleaned = gate(
        y=sound.samples,
        sr=sound.rate,
        stationary=True,
        y_noise=_cut(sound, noise),
        prop_decrease=strength,
        freq_mask_smooth_hz=_SMOOTHED_HZ,
    )
    return Sound(np.asarray(cleaned, dtype=np.float32), sound.rate)


def _cut(sound: Sound, part: Part) -> "NDArray[np.float32]":
    begin = round(part.start * sound.rate)
    return sound.samples[:, begin : max(begin + 1, round(part.end * sound.rate))]


def level_db(samples: "NDArray[np.float32]") -> float:
    """Return the RMS level in dB below full scale, at least -120."""
    import numpy as np

    power = float(np.square(samples, dtype=np.float64).mean())
    return max(_SILENT_DB, 10 * math.log10(power)) if power > 0 else _SILENT_DB


TOOLS = (
    ToolDefinition(
        name="NoiseReduction",
        description=(
            "Reduce steady background noise (hiss, hum, fans) in a sound file by spectral gating. "
            "It learns the noise from the quietest 0.3 s or a stretch that you name; noises "
            "that come and go stay."
        ),
        category=Capability.OPERATION,
        arguments=NoiseReductionArguments,
        run=reduce_noise,
        backend="noisereduce",
        paging="Use a shorter file.",
        modules=("imageio_ffmpeg", "noisereduce"),
        extra="tools-audio",
    ),
)
