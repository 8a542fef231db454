"""How much the tests marked `soak` do: little in `make test`, a lot in `make soak`."""

import os

import pytest

SOAKING = os.environ.get("NIGHTSHIFT_SOAK") == "1"
"""Whether `make soak` runs these tests."""

at_length_only = pytest.mark.skipif(not SOAKING, reason="runs in `make soak`")
"""For what shorter tests of `make test` hold part by part."""
