"""Sounds to test with: tones made here, and one recording of a voice."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from numpy.typing import NDArray

RATE = 22_050


@pytest.fixture(scope="session")
def tone() -> Callable[..., NDArray[np.float32]]:
    """Makes a sine of so many hertz and seconds, 22 050 samples a second."""

    def make(hertz: float, seconds: float, amplitude: float = 0.3) -> NDArray[np.float32]:
        times = np.arange(round(seconds * RATE)) / RATE
        return (amplitude * np.sin(2 * np.pi * hertz * times)).astype(np.float32)

    return make


@pytest.fixture
def put(workspace: Path) -> Callable[..., str]:
    """Writes samples, one column per channel if there are several, into input/."""

    def write(samples: NDArray[np.float32], name: str = "a.wav", rate: int = RATE) -> str:
        sf.write(workspace / "input" / name, samples, rate)
        return f"input/{name}"

    return write


@pytest.fixture
def heard(workspace: Path) -> Callable[[str], tuple[NDArray[np.float64], int]]:
    """Reads the samples and the rate of a sound of the workspace."""

    def read(path: str) -> tuple[NDArray[np.float64], int]:
        return sf.read(workspace / path)

    return read


@pytest.fixture
def loudest_hertz() -> Callable[[NDArray[np.float64], int], float]:
    """Finds the frequency with the most energy."""

    def find(samples: NDArray[np.float64], rate: int) -> float:
        spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
        return float(spectrum.argmax() * rate / samples.size)

    return find


@pytest.fixture(scope="session")
def voice() -> bytes:
    """A FLAC file in which somebody says "He might even have been made amiable himself"."""
    return (Path(__file__).parent / "recordings" / "made_amiable.flac").read_bytes()
