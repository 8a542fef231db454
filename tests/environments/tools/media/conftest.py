"""Sounds and videos to test with, all made here."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from imageio_ffmpeg import get_ffmpeg_exe


@pytest.fixture
def made(workspace: Path) -> Callable[..., str]:
    """Lets ffmpeg write input/`name` from its own sources of sound and pictures."""

    def make(name: str, *options: str) -> str:
        target = workspace / "input" / name
        command = [get_ffmpeg_exe(), "-nostdin", "-v", "error", "-y", *options, str(target)]
        subprocess.run(command, check=True)
        return f"input/{name}"

    return make
