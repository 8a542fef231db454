"""A folder of seed files, and intake over it."""

from pathlib import Path

import pytest

from stages.intake.duplicates import DuplicateIndex
from stages.intake.rows import Defaults
from stages.intake.work import FileReport, SeedFile, add_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "seed files"
    path.mkdir()
    return path


@pytest.fixture
def add(store, folder: Path):
    """Write a seed file and add it; every call knows what the calls before it have added."""
    index = DuplicateIndex()

    def run(content: str | bytes | None, name: str = "seeds.jsonl", **defaults: str) -> FileReport:
        path = folder / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return add_file(store, SeedFile.at(path), Defaults(**defaults), lambda: index)

    return run
