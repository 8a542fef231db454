import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.tools.audio.music import key_of, note_name, onsets, pitches, rises, tempo
from environments.tools.audio.spectra import RATE, mel_decibels

SCALE = (0, 2, 4, 5, 7, 9, 11, 12)


def note(hertz: float, seconds: float) -> np.ndarray:
    times = np.arange(round(seconds * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * hertz * part * times) / part for part in (1, 2, 3))
    return (0.2 * tone * np.exp(-5 * times)).astype(np.float32)


def beats(bpm: float, seconds: float) -> np.ndarray:
    samples = np.zeros(round(seconds * RATE), np.float32)
    for start in np.arange(0.3, seconds - 0.3, 60 / bpm):
        at = round(start * RATE)
        samples[at : at + RATE // 5] += note(600, 0.2)
    return samples


@given(st.floats(60, 1_900))
@settings(max_examples=25, deadline=None)
def test_the_pitch_of_a_tone_is_its_frequency(hertz):
    times = np.arange(RATE // 3) / RATE
    found = pitches((0.3 * np.sin(2 * np.pi * hertz * times)).astype(np.float32))
    assert np.nanmedian(found) == pytest.approx(hertz, rel=0.01)


def test_a_missing_fundamental_is_heard_and_noise_and_silence_are_not():
    times = np.arange(RATE) / RATE
    chord = sum(np.sin(2 * np.pi * hertz * times) for hertz in (400, 600, 800)) / 4
    assert np.nanmedian(pitches(chord.astype(np.float32))) == pytest.approx(200, rel=0.01)
    noise = np.random.default_rng(3).normal(0, 0.1, RATE).astype(np.float32)
    assert np.isnan(pitches(noise)).mean() > 0.9
    assert np.isnan(pitches(np.zeros(RATE, np.float32))).all()


@pytest.mark.parametrize(
    ("hertz", "name"),
    [(440, "A4 +0 cents"), (261.63, "C4 +0 cents"), (450, "A4 +39 cents"), (61.7, "B1 -1 cents")],
)
def test_frequencies_have_note_names(hertz, name):
    assert note_name(hertz) == name


@pytest.mark.parametrize("bpm", [72, 90, 120, 150])
def test_beats_are_counted(bpm):
    rise = rises(mel_decibels(beats(bpm, 10.0)))
    times = onsets(rise)
    expected = np.arange(0.3, 9.7, 60 / bpm)
    assert times == pytest.approx(expected, abs=0.03)
    assert tempo(rise, times.size) == pytest.approx(bpm, rel=0.01)


def test_a_steady_tone_begins_once_and_has_no_tempo():
    times = np.arange(5 * RATE) / RATE
    rise = rises(mel_decibels((0.3 * np.sin(2 * np.pi * 440 * times)).astype(np.float32)))
    assert onsets(rise).tolist() == [0.0]
    assert tempo(rise, 1) is None


@pytest.mark.parametrize(
    ("tonic", "steps", "name"),
    [
        (261.63, SCALE, "C major"),
        (392.0, SCALE, "G major"),
        (440.0, (0, 2, 3, 5, 7, 8, 11, 12), "A minor"),
    ],
)
def test_a_scale_tells_its_key(tonic, steps, name):
    played = [*steps, 7, 4 if 4 in steps else 3, 0, 0]
    melody = np.concatenate([note(tonic * 2 ** (step / 12), 0.4) for step in played])
    key = key_of(melody)
    assert key is not None
    assert key.name == name
    assert key.correlation > 0.6


def test_two_notes_make_no_key():
    assert key_of(np.concatenate([note(440, 0.5), note(660, 0.5)])) is None
    assert key_of(np.zeros(100, np.float32)) is None
