from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave these out unless they are asked for: they install programs from PyPI and npm."""
    is_test = collection_path.name.startswith("test_")
    return True if is_test and "recipes" not in config.option.markexpr else None
