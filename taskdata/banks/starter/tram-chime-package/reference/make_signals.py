"""Chooses the take by the specification's rules and cuts both signals from it."""

from itertools import groupby

import numpy as np
import soundfile
from scipy.signal import resample_poly

FULL_SCALE = 32767 / 32768


def longest_clip(frames):
    runs = [0]
    for channel in frames.T:
        full = np.abs(channel) >= FULL_SCALE
        runs += [len(list(run)) for is_full, run in groupby(full) if is_full]
    return max(runs)


def mono_loss_db(frames):
    level = [np.sqrt(np.mean(x**2)) for x in (frames[:, 0], frames.mean(axis=1))]
    return 20 * np.log10(level[0] / max(level[1], 1e-9))


def first_attack(sound, rate):
    """Sample at which the first sound begins that lasts: a note, not a knock."""
    window = rate // 100
    rms = np.sqrt(np.mean(sound[: len(sound) // window * window].reshape(-1, window) ** 2, axis=1))
    loud = rms > 0.15 * rms[: len(rms) * 9 // 10].max()
    start = next(i for i in range(len(loud)) if loud[i : i + 30].all())
    near = (start - 1) * window
    return near + int(np.argmax(np.abs(sound[near:]) > 0.03))


def to_peak(sound, dbfs):
    return sound * 10 ** (dbfs / 20) / np.abs(sound).max()


usable = []
for number in (1, 2, 3):
    frames, rate = soundfile.read(f"input/take_{number}.wav", always_2d=True)
    clip, loss = longest_clip(frames), mono_loss_db(frames)
    print(f"take {number}: {clip} samples in a row at full scale, mono loses {loss:.1f} dB")
    if clip <= 3 and loss <= 6:
        usable.append((number, frames.mean(axis=1), rate))

number, mono, rate = usable[0]
start, length, fade = first_attack(mono, rate), round(1.8 * rate), round(0.3 * rate)
chime = mono[start : start + length].copy()
chime[-fade:] *= np.linspace(1, 0, fade)
print(f"take {number} is used, first attack at {start / rate:.3f} s")
soundfile.write("output/chime_station.wav", to_peak(chime, -3), rate, subtype="PCM_16")

target = 8000
tone, tone_rate = soundfile.read("input/warning_tone.wav")
chime8 = to_peak(resample_poly(chime, target, rate), -6)
tone8 = to_peak(resample_poly(tone, target, tone_rate)[: round(0.6 * target)], -6)
pauses = [np.zeros(round(seconds * target)) for seconds in (0.5, 0.4)]
vehicle = np.concatenate([chime8, pauses[0], chime8, pauses[1], tone8])
soundfile.write("output/chime_vehicle.wav", vehicle, target, subtype="PCM_16")
for name in ("chime_station.wav", "chime_vehicle.wav"):
    sound, rate = soundfile.read(f"output/{name}")
    print(name, len(sound) / rate, rate, 20 * np.log10(np.abs(sound).max()))
