"""Pitch, onsets, tempo and key of a sound, estimated by classical methods."""

import math
from typing import TYPE_CHECKING, NamedTuple

from environments.tools.audio.spectra import FRAME, FRAMES_PER_SECOND, HOP, RATE, in_pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Samples = NDArray[np.float32]

NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")

_A4_HZ, _A4_NUMBER = 440.0, 69
_LOWEST_HZ, _HIGHEST_HZ = 50, 2_000
_PEAK_SHARE = 0.9
_VOICED = 0.9
_AUDIBLE_POWER = 1e-6
_LEAST_RISE_DB = 1.0
_LOOK_FRAMES = 2
_STEADY_DB = 1.0
_RISE_SHARE = 0.1
_NEIGHBOURS = 4
_FRAMES_PAST_END = FRAME // HOP // 2
_SLOWEST_BPM, _FASTEST_BPM, _USUAL_BPM = 30.0, 300.0, 120.0
_LEAST_ONSETS = 4
_CLEAR_BEAT = 0.2
_CHROMA_FRAME = 8_192
_CHROMA_HZ = (120.0, 4_000.0)
_NOTE_SHARE = 0.1
_LEAST_NOTES = 4
# Probe-tone profiles of Krumhansl and Kessler (1982), from the tonic up by semitones.
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)


class Key(NamedTuple):
    """A key, and how well the notes fit it."""

    name: str
    correlation: float
    """Pearson correlation of the notes' strengths with the key's profile, -1 to 1."""


def pitches(samples: "Samples") -> "Values":
    """Return the fundamental frequency of each frame in Hz, NaN where there is none.

    The first strong peak of the normalised square difference (McLeod and Wyvill 2005), for
    voices and single instruments between 50 and 2000 Hz.
    """
    return in_pieces(samples, _pitches_of_frames)


def _pitches_of_frames(frames: "Values") -> "Values":
    import numpy as np

    likeness = _normalised_square_difference(frames)
    first = RATE // _HIGHEST_HZ
    inner = likeness[:, first:-1]
    is_peak = (inner > likeness[:, first - 1 : -2]) & (inner >= likeness[:, first + 1 :])
    peaks = np.where(is_peak, inner, -1.0)
    best = peaks.max(axis=1)
    lag = (peaks >= _PEAK_SHARE * best[:, None]).argmax(axis=1) + first
    rows = np.arange(len(frames))
    before, at, after = (likeness[rows, lag + step] for step in (-1, 0, 1))
    curve = before - 2 * at + after
    shift = np.where(curve < 0, 0.5 * (before - after) / np.where(curve < 0, curve, 1.0), 0.0)
    voiced = (best >= _VOICED) & (np.square(frames).mean(axis=1) > _AUDIBLE_POWER)
    return np.where(voiced, RATE / (lag + shift), np.nan)


def _normalised_square_difference(frames: "Values") -> "Values":
    """Return 1 for lags at which a frame repeats itself, down to -1, for each frame."""
    import numpy as np

    lags = RATE // _LOWEST_HZ + 2
    spectrum = np.fft.rfft(frames, 2 * FRAME, axis=1)
    products = np.fft.irfft(np.square(np.abs(spectrum)), axis=1)[:, :lags]
    squares = np.square(frames)
    total = squares.sum(axis=1, keepdims=True)
    dropped = np.zeros((len(frames), lags))
    ends = squares[:, : lags - 1] + squares[:, :-lags:-1]
    dropped[:, 1:] = ends.cumsum(axis=1)
    energy = np.maximum(2 * total - dropped, 1e-12)
    likeness: Values = 2 * products / energy
    return likeness


def note_name(hertz: float) -> str:
    """Return the nearest note with its octave and the deviation in cents, such as `A4 +3 cents`."""
    number = _A4_NUMBER + 12 * math.log2(hertz / _A4_HZ)
    nearest = round(number)
    return f"{NOTES[nearest % 12]}{nearest // 12 - 1} {100 * (number - nearest):+.0f} cents"


def rises(decibels: "Values") -> "Values":
    """Return by how many dB the mel bands of each frame got louder, averaged over all bands.

    Frames around which the sound gets quieter count as 0, because a sudden end has a broad spectrum
    too.
    """
    import numpy as np

    silence = np.full((1, decibels.shape[1]), decibels.min())
    steps = np.diff(np.concatenate([silence, decibels]), axis=0)
    rise = np.maximum(steps, 0.0).mean(axis=1)
    level = 10 * np.log10(np.power(10, decibels / 10).sum(axis=1))
    around = np.pad(level, (_LOOK_FRAMES, 0), constant_values=level.min())
    around = np.pad(around, (0, _LOOK_FRAMES), mode="edge")
    falls = around[2 * _LOOK_FRAMES :] < around[: level.size] - _STEADY_DB
    return np.where(falls, 0.0, rise)


def onsets(rise: "Values") -> "Values":
    """Return the times in seconds at which `rise` has its peaks: the beginnings of sounds."""
    import numpy as np
    from scipy.ndimage import maximum_filter1d, uniform_filter1d

    width = 2 * _NEIGHBOURS + 1
    least = max(_LEAST_RISE_DB, _RISE_SHARE * float(rise.max()))
    is_onset = rise >= maximum_filter1d(rise, width, mode="constant")
    is_onset &= rise >= uniform_filter1d(rise, width, mode="constant") + least
    # The spectrum also gets broad where the sound is cut off at its end, which is no onset.
    is_onset[-_FRAMES_PAST_END:] = False
    frames = np.flatnonzero(is_onset)
    frames = frames[np.diff(frames, prepend=-_NEIGHBOURS - 1) > 1]
    # A frame gets louder as soon as its edge overlaps the sound.
    times: Values = (frames + (frames > 0)) / FRAMES_PER_SECOND
    return times


def tempo(rise: "Values", onset_count: int) -> float | None:
    """Return the beats a minute, or None where no beat repeats.

    The strongest period of `rise` by autocorrelation, tempi near 120 preferred (Ellis 2007);
    half and double are common errors.
    """
    import numpy as np
    from scipy.signal import correlate

    slowest = round(60 * FRAMES_PER_SECOND / _SLOWEST_BPM)
    if onset_count < _LEAST_ONSETS or rise.size <= slowest // 2:
        return None
    centred = rise - rise.mean()
    repeats = correlate(centred, centred, method="fft")[rise.size - 1 :]
    repeats /= repeats[0]
    lags = np.arange(
        math.ceil(60 * FRAMES_PER_SECOND / _FASTEST_BPM), min(slowest, rise.size - 2) + 1
    )
    preferred = np.exp(-0.5 * np.log2(60 * FRAMES_PER_SECOND / lags / _USUAL_BPM) ** 2)
    lag = int(lags[(repeats[lags] * preferred).argmax()])
    if repeats[lag] < _CLEAR_BEAT:
        return None
    return 60 * FRAMES_PER_SECOND / _exact_lag(repeats, lag)


def _exact_lag(repeats: "Values", lag: int) -> float:
    """Return the period to a fraction of a frame, from the furthest clear multiple of `lag`."""
    exact = float(lag)
    for times in (1, 2, 4, 8):
        middle = round(exact * times)
        if middle + times + 1 >= repeats.size:
            break
        near = repeats[middle - times : middle + times + 1]
        at = middle - times + int(near.argmax())
        before, here, after = repeats[at - 1 : at + 2]
        curve = before - 2 * here + after
        if here < _CLEAR_BEAT or curve >= 0:
            break
        exact = (at + 0.5 * (before - after) / curve) / times
    return exact


def key_of(samples: "Samples") -> Key | None:
    """Return the major or minor key that fits best, or None for fewer than four notes.

    Krumhansl's key-finding algorithm (1990) over the strength of the twelve pitch classes, with
    A4 at 440 Hz.
    """
    import numpy as np

    strengths = _pitch_classes(samples)
    if (strengths > _NOTE_SHARE * strengths.max()).sum() < _LEAST_NOTES:
        return None
    keys = [
        Key(f"{NOTES[tonic]} {mode}", float(np.corrcoef(np.roll(strengths, -tonic), profile)[0, 1]))
        for tonic in range(12)
        for mode, profile in (("major", _MAJOR), ("minor", _MINOR))
    ]
    return max(keys, key=lambda key: key.correlation)


def _pitch_classes(samples: "Samples") -> "Values":
    import numpy as np

    if samples.size < _CHROMA_FRAME:
        samples = np.pad(samples, (0, _CHROMA_FRAME - samples.size))
    window = np.hanning(_CHROMA_FRAME)
    frequencies = np.fft.rfftfreq(_CHROMA_FRAME, 1 / RATE)
    used = (frequencies >= _CHROMA_HZ[0]) & (frequencies <= _CHROMA_HZ[1])
    notes = np.round(_A4_NUMBER + 12 * np.log2(frequencies[used] / _A4_HZ)).astype(int) % 12
    strengths = np.zeros(12)
    for begin in range(0, samples.size - _CHROMA_FRAME + 1, _CHROMA_FRAME // 2):
        spectrum = np.abs(np.fft.rfft(samples[begin : begin + _CHROMA_FRAME] * window))
        strengths += np.bincount(notes, weights=np.square(spectrum[used]), minlength=12)
    return np.sqrt(strengths)
