"""Simulated nights for the tests of this room."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def simulated() -> ModuleType:
    """The module beside this file: `Bench`, `Simulation`, and cells and settings of one's own."""
    spec = importlib.util.spec_from_file_location(
        "simulated", Path(__file__).with_name("simulated.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
