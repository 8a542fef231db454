"""Looking at what runs on the host, and waiting for it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def alive() -> Callable[[str], bool]:
    """Tell whether a process with this text in its command line runs on the host."""

    def look(text: str) -> bool:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if text.encode() in (folder / "cmdline").read_bytes():
                    return int(folder.name) != os.getpid()
            except OSError:
                continue
        return False

    return look


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], bool]:
    """Wait up to ten seconds for a condition; return whether it came true."""

    def wait(condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.05)
        return False

    return wait
