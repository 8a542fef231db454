"""How much the tests marked `soak` do: little in `make test`, a lot in `make soak`."""

import os

SOAKING = os.environ.get("NIGHTSHIFT_SOAK") == "1"
"""Whether `make soak` runs these tests."""
