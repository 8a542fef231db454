"""Which code made a measurement."""

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def code_version() -> str:
    """Return the package version, with the commit (and `.dirty`) where this is a checkout."""
    try:
        release = version("nightshift-evals")
    except PackageNotFoundError:
        release = "0+unknown"
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return release
    try:
        commit = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=.dirty", "--exclude=*"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return release
    return f"{release}+{commit}"
