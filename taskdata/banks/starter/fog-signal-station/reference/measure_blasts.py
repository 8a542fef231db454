"""Start and length of every blast: where the horn's own pitch is loud for half a second or more."""

import numpy as np
import soundfile

sound, rate = soundfile.read("input/fog_0612.wav")
spectrum = np.abs(np.fft.rfft(sound))
pitch = np.fft.rfftfreq(sound.size, 1 / rate)[spectrum[1:].argmax() + 1]
print(f"{sound.size / rate:.1f} s at {rate} Hz, strongest pitch {pitch:.0f} Hz")

time = np.arange(sound.size) / rate
window = np.ones(rate // 20) / (rate // 20)
level = np.abs(np.convolve(sound * np.exp(-2j * np.pi * pitch * time), window, mode="same"))
loud = level > level.max() / 2
edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int)))
blasts = [(a / rate, b / rate) for a, b in edges.reshape(-1, 2) if b - a > rate / 2]
for number, (start, end) in enumerate(blasts):
    silence = (
        f", then silence for {blasts[number + 1][0] - end:.1f} s" if blasts[number + 1 :] else ""
    )
    print(f"blast of {end - start:.1f} s from {start:.1f} s{silence}")
