import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.tools.audio.spectra import (
    FRAME,
    HOP,
    RATE,
    centroid_and_rolloff,
    cepstrum,
    in_pieces,
    mel_decibels,
    zero_crossings,
)


def sine(hertz: float, seconds: float = 1.0) -> np.ndarray:
    times = np.arange(round(seconds * RATE)) / RATE
    return (0.3 * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


@given(st.floats(500, 9_000))
@settings(max_examples=20, deadline=None)
def test_a_tone_is_where_its_spectrum_is(hertz):
    samples = sine(hertz, 0.5)
    centre, rolloff = np.median(in_pieces(samples, centroid_and_rolloff), axis=0)
    assert centre == pytest.approx(hertz, rel=0.02)
    assert rolloff == pytest.approx(hertz, abs=2.5 * RATE / FRAME)
    crossings = np.median(in_pieces(samples, zero_crossings, mode="edge"))
    assert crossings * RATE == pytest.approx(2 * hertz, rel=0.02)


def test_silence_measures_as_nothing():
    silence = np.zeros(RATE, np.float32)
    assert not in_pieces(silence, centroid_and_rolloff).any()
    assert not in_pieces(silence, zero_crossings).any()
    assert np.ptp(mel_decibels(silence)) == 0


@given(st.integers(1, 300_000))
@settings(max_examples=10, deadline=None)
def test_there_is_a_frame_every_hop(size):
    frames = in_pieces(np.ones(size, np.float32), lambda part: part.sum(axis=1))
    assert frames.size == 1 + size // HOP


def test_a_level_counts_in_the_first_coefficient_alone():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, RATE).astype(np.float32)
    loud, quiet = (cepstrum(mel_decibels(noise * gain), 13).mean(axis=0) for gain in (1.0, 0.1))
    assert loud[0] - quiet[0] == pytest.approx(20 * np.sqrt(128), rel=0.01)
    assert loud[1:] == pytest.approx(quiet[1:], abs=0.01)


def test_values_agree_with_the_published_tools():
    times = np.arange(RATE) / RATE
    chirp = np.sin(2 * np.pi * (200 * times + 900 * times**2))
    found = cepstrum(mel_decibels((0.3 * chirp).astype(np.float32)), 5).mean(axis=0)
    # What librosa 0.11 gives for the same samples.
    librosa = [-520.2935, 54.28789, -13.300506, -27.958845, -7.6127706]
    assert found == pytest.approx(librosa, abs=0.001)
