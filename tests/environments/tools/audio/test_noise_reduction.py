import numpy as np
import pytest

from environments.tools.audio.noise_reduction import level_db, quietest_part
from environments.tools.audio.sounds import Sound


@pytest.fixture
def noisy(tone) -> np.ndarray:
    """A second of noise, then two of a tone in the same noise."""
    noise = np.random.default_rng(7).normal(0, 0.02, 3 * 22_050).astype(np.float32)
    return noise + np.concatenate([np.zeros(22_050, np.float32), tone(440, 2.0)])


def test_the_noise_goes_and_the_tone_stays(written, noisy, put, heard):
    result = written("NoiseReduction", audio=put(noisy), path="output/b.wav")
    samples, rate = heard("output/b.wav")
    assert samples.size == noisy.size
    assert level_db(samples[: rate // 2]) < level_db(noisy[: rate // 2]) - 12
    middle = slice(round(1.2 * rate), round(2.8 * rate))
    assert level_db(samples[middle]) == pytest.approx(level_db(noisy[middle]), abs=1)
    assert "with steady noise reduced" in result.text
    assert "note:" not in result.text


def test_the_stretch_of_noise_can_be_named(written, noisy, put):
    path = put(np.column_stack([noisy, noisy]))
    result = written("NoiseReduction", audio=path, noise_end=0.9, strength=0.5, path="output/b.wav")
    line = result.text.splitlines()[1]
    assert line.startswith("noise learned from 0.00 to 0.90 s: -34.0 dBFS there before, -3")
    before, after = (float(word) for word in line.split() if word.startswith("-"))
    assert -7 < after - before < -4


def test_sound_without_a_quiet_stretch_is_pointed_out(run, tone, put):
    text = run("NoiseReduction", audio=put(tone(440, 1.0))).text
    assert "note: that stretch is nearly as loud as the whole" in text


def test_the_quietest_stretch_is_no_digital_silence(tone):
    parts = [np.zeros(22_050, np.float32), tone(440, 1.0), tone(440, 1.0, 0.01), tone(440, 1.0)]
    found = quietest_part(Sound(np.concatenate(parts)[None], 22_050))
    assert found.start == pytest.approx(2.35, abs=0.35)
    assert found.seconds == pytest.approx(0.3)
    short = Sound(tone(440, 0.2)[None], 22_050)
    assert quietest_part(short).end == pytest.approx(0.2)


def test_stretches_that_teach_nothing_are_refused(refused, tone, put):
    path = put(tone(440, 1.0))
    assert "at least 0.1 s" in refused("NoiseReduction", audio=path, noise_start=0.95)
    assert "lasts 1.00 s" in refused("NoiseReduction", audio=path, noise_start=5)
