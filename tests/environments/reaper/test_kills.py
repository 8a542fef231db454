"""Workers are killed at random under load, and nothing of them is left.

For 10 seconds; for 60 in `make soak`.
"""

import secrets
from pathlib import Path

import pytest

from environments.sandbox.providers import sandbox_provider
from tests.environments.reaper.load import WORKERS, killed_at_random
from tests.soak import SOAKING

SECONDS = 60.0 if SOAKING else 10.0


@pytest.mark.docker
@pytest.mark.soak
def test_nothing_is_left_of_workers_that_are_killed_at_random(temporary: Path):
    names = [name for name in ("bubblewrap", "docker") if not sandbox_provider(name).unavailable()]
    if not names:
        pytest.skip("no sandbox works here")
    mark, seed = f"load-{secrets.token_hex(6)}", secrets.randbelow(1 << 32)

    killed = killed_at_random(names, SECONDS, temporary, mark, seed)

    assert not any(killed.left.values()), (seed, killed.left)
    assert killed.kills >= WORKERS + SECONDS // 6
    assert killed.rounds > 0, "the workers were killed before they did anything"
