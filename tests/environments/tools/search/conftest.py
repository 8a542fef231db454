"""A scripted search service on this machine."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _load_wire_server():
    if "wire_server" not in sys.modules:
        path = Path(__file__).parents[3] / "wire_server.py"
        spec = importlib.util.spec_from_file_location("wire_server", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["wire_server"] = module
        spec.loader.exec_module(module)
    return sys.modules["wire_server"]


@pytest.fixture
def wire():
    with _load_wire_server().running_wire_server() as server:
        yield server
