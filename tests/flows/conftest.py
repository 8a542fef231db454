"""A home of one's own for tests that run the command."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows.cli.app import main


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vectors of texts that encoders have read, which all homes share: they take seconds."""
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: Path) -> Path:
    """A state folder whose path has a space, and no settings of the surrounding machine."""
    folder = tmp_path / "night home"
    monkeypatch.setattr("quality.encoders.choosing._VECTORS", vectors)
    for name in list(os.environ):
        if name.startswith(("NIGHTSHIFT_", "PREFECT_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def nightshift(home: Path):
    """Run the command as a user does; returns the completed process."""

    def run(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flows.cli.app", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def command(home, monkeypatch, capsys):
    """Run the command in this process, for it runs often; returns code, output and errors."""

    def run(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["nightshift", *arguments])
        code = 0
        try:
            main()
        except SystemExit as exc:
            code = exc.code or 0
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return run
