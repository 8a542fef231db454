"""What an agent leaves cannot make a verifier of Harbor's format say that it failed by itself."""

import asyncio
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from environments.sandbox.docker.provider import Docker
from environments.services.starting import ServiceHost
from stages.release.importing import import_bank
from stages.score.scripts.left import Left
from stages.score.scripts.running import ScriptRunner
from taskdata.banks.found import find_bank
from taskdata.schema.run import Deliverable
from taskdata.schema.scores import Unscored

POOL = Path(__file__).parents[3] / "harbor"


@pytest.fixture
def score(store, tmp_path):
    """Return how the verifier of tide-table, as changed, scores files that an agent left."""
    provider = Docker()
    if reason := provider.unavailable():
        pytest.skip(reason)

    def run(left: dict[str, bytes], program: str | None = None):
        pool = Path(shutil.copytree(POOL, tmp_path / "pool"))
        shutil.rmtree(pool / "tide-table" / "solution")
        if program is not None:
            (pool / "tide-table" / "tests" / "test.sh").write_text(program)
        import_bank(store, "harbor", "harbor", pool)
        (task,) = find_bank(store, "harbor").tasks(["harbor-tide-table"])
        files = tuple(
            Deliverable(name=n, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))
            for n, data in left.items()
        )
        folder = tmp_path / "work"
        folder.mkdir()
        runner = ScriptRunner(ServiceHost(store.artifacts, provider, folder, tmp_path, "test"))
        left_files = Left(files, datetime(2026, 3, 1, tzinfo=UTC))
        (found,) = asyncio.run(runner.score_left(task, left_files)).values()
        return found

    return run


@pytest.mark.docker
def test_an_agent_that_writes_what_a_program_without_a_network_says_scores_nothing(score):
    found = score({"highest.txt": b"Could not resolve host", "tides.csv": b"tide"})
    assert (found.score, found.unscored) == (0, None)
    assert "Could not resolve host" in found.reason


@pytest.mark.docker
def test_a_verifier_that_breaks_because_the_agent_removed_a_file_was_asked(score):
    found = score({}, "cat tides.csv || exit 1\necho 0 > /logs/verifier/reward.txt\n")
    assert (found.score, found.unscored) == (None, Unscored.CHECK_FAILED)
