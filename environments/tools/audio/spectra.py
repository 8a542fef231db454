"""Spectral features of a sound, frame by frame.

Frames of 2048 samples every 512 at 22 050 Hz, Hann windows and Slaney's mel scale: the settings and
definitions of librosa, so that values are comparable with the published tool's. Librosa itself is
not used: it compiles its inner loops in every new process, which takes more than 20 s of CPU time
where compiled code cannot be cached, as in a sandbox.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Samples = NDArray[np.float32]

RATE = 22_050
FRAME = 2_048
HOP = 512
FRAMES_PER_SECOND = RATE / HOP

_FRAMES_AT_ONCE = 2_048
_ROLLOFF = 0.85
_MELS = 128
_LEAST_POWER = 1e-10
_MEL_RANGE_DB = 80.0
_HEARD_AS_ZERO = 1e-10


def in_pieces(
    samples: "Samples", measure: "Callable[[Values], Values]", mode: str = "constant"
) -> "Values":
    """Return `measure` of all frames, computed in batches to limit the memory.

    Frames are centred: `mode` says how the sound continues beyond its ends, as in `numpy.pad`.
    """
    import numpy as np

    padded = np.pad(samples, FRAME // 2, mode=mode)  # type: ignore[call-overload]
    frames = np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]
    parts = range(0, len(frames), _FRAMES_AT_ONCE)
    return np.concatenate(
        [measure(frames[at : at + _FRAMES_AT_ONCE].astype(np.float64)) for at in parts]
    )


def magnitudes(frames: "Values") -> "Values":
    """Return the magnitude spectrum of each frame, `FRAME` / 2 + 1 values from 0 Hz up."""
    import numpy as np

    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    spectrum: Values = np.abs(np.fft.rfft(frames * window, axis=1))
    return spectrum


def centroid_and_rolloff(frames: "Values") -> "Values":
    """Return two columns in Hz: the spectral centroid, and the frequency below which 85 % lies."""
    import numpy as np

    spectrum = magnitudes(frames)
    frequencies = np.fft.rfftfreq(FRAME, 1 / RATE)
    total = spectrum.sum(axis=1)
    centre = (spectrum @ frequencies) / np.where(total > 0, total, 1.0)
    reached = spectrum.cumsum(axis=1) >= _ROLLOFF * total[:, None]
    return np.column_stack([centre, frequencies[reached.argmax(axis=1)]])


def zero_crossings(frames: "Values") -> "Values":
    """Return for each frame the share of its samples at which the sign changes, 0 to 1."""
    import numpy as np

    negative = np.signbit(np.where(np.abs(frames) <= _HEARD_AS_ZERO, 0.0, frames))
    changes: Values = (negative[:, 1:] != negative[:, :-1]).sum(axis=1) / FRAME
    return changes


def mel_decibels(samples: "Samples") -> "Values":
    """Return the power in 128 mel bands of each frame in dB, at most 80 dB below the loudest."""
    import numpy as np

    filters = _mel_filters().T
    power = in_pieces(samples, lambda frames: np.square(magnitudes(frames)) @ filters)
    decibels = 10 * np.log10(np.maximum(power, _LEAST_POWER))
    kept: Values = np.maximum(decibels, decibels.max() - _MEL_RANGE_DB)
    return kept


def cepstrum(decibels: "Values", count: int) -> "Values":
    """Return the first `count` mel frequency cepstral coefficients of each frame (DCT-II)."""
    from scipy.fft import dct

    coefficients: Values = dct(decibels, axis=1, norm="ortho")[:, :count]
    return coefficients


def _mel_filters() -> "Values":
    """Return triangles over the spectrum of equal area, one row for each mel band."""
    import numpy as np

    edges = _hertz_of_mel(np.linspace(0.0, _mel_of_hertz(RATE / 2), _MELS + 2))
    frequencies = np.fft.rfftfreq(FRAME, 1 / RATE)
    widths = np.diff(edges)
    slopes = edges[:, None] - frequencies
    rising = -slopes[:-2] / widths[:-1, None]
    falling = slopes[2:] / widths[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    filters: Values = triangles * (2 / (edges[2:] - edges[:-2]))[:, None]
    return filters


_LINEAR_HZ = 200 / 3
_BREAK_HZ = 1_000.0
_BREAK_MEL = _BREAK_HZ / _LINEAR_HZ
_LOG_STEP = math.log(6.4) / 27


def _mel_of_hertz(hertz: float) -> float:
    return _BREAK_MEL + math.log(hertz / _BREAK_HZ) / _LOG_STEP


def _hertz_of_mel(mel: "Values") -> "Values":
    import numpy as np

    above = _BREAK_HZ * np.exp(_LOG_STEP * (mel - _BREAK_MEL))
    return np.where(mel < _BREAK_MEL, mel * _LINEAR_HZ, above)
