"""Simulated nights, which the benchmarks of this room use, too."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

_SIMULATED = Path(__file__).parents[3] / "benchmarks" / "load" / "simulated.py"


@pytest.fixture(scope="session")
def simulated(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module with `Bench`, `Simulation`, and cells and settings of one's own."""
    return load_module(_SIMULATED)
