"""Results on disk as somebody would hand them over, and the task they are for."""

import json
from pathlib import Path

import pytest

from taskdata.schema.agent import AgentSpec


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of results; empty."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def put(results: Path):
    """Lay a task's result into the folder: answer, files by name, and what `meta.json` says."""

    def lay(name: str, answer: str | None = "5", meta: object = None, **files: bytes) -> Path:
        place = results / name
        place.mkdir(parents=True)
        if answer is not None:
            (place / "final.txt").write_text(answer)
        if meta is not None:
            (place / "meta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta))
        for file, data in files.items():
            (place / "files").mkdir(exist_ok=True)
            (place / "files" / f"{file}.json").write_bytes(data)
        return place

    return lay


@pytest.fixture
def manus(results: Path) -> AgentSpec:
    """The agent whose results lie in the folder."""
    return AgentSpec(harness="import", label="manus", results=str(results))
