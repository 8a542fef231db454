"""Local models: GGUF files, served by a child process over HTTP.

One server is shared by every worker of a run: the model is loaded once and its requests queue for
the same cores anyway.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environments.models.local.catalogue import SMALLEST
from environments.models.local.files import Tell, model_file
from taskdata.errors import ModelUnavailable

_START_SECONDS = 120.0
_STOP_SECONDS = 5.0
# Enough for Python and the loader to find their libraries; no key reaches the child.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")


@contextmanager
def local_model_server(
    home: Path, model: str = SMALLEST, tell: Tell | None = None
) -> Iterator[str]:
    """Serve a local model for the length of the block; yield its OpenAI-compatible base URL.

    The child ends with the block, and also when this process dies: it watches a pipe from here.

    Args:
        home: The server's log goes to `local_model.log` in this folder, and a model that comes in
            parts is put together in `models/`.
        model: Name as in `local/<name>`, or the path of a GGUF file.
        tell: Is told what takes a while.

    Raises:
        Misuse: The model is unknown or not installed, or its file has the wrong hash.
        ModelUnavailable: The server did not start, or the file cannot be read or written.
    """
    path = model_file(home, model, tell)
    home.mkdir(parents=True, exist_ok=True)
    log_path = home / "local_model.log"
    with log_path.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "environments.models.local.server", str(path), model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(),
            start_new_session=True,
        )
    try:
        yield f"{_address(child, log_path)}/v1"
    finally:
        _stop(child)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    path = [root, *filter(None, [passed.get("PYTHONPATH")])]
    return {**passed, "PYTHONPATH": os.pathsep.join(path)}


def _address(child: subprocess.Popen[bytes], log: Path) -> str:
    """Return the URL the child reports once the model is loaded, in bounded time."""
    assert child.stdout is not None
    deadline = time.monotonic() + _START_SECONDS
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise ModelUnavailable(
                    f"the local model server gave no sign for {_START_SECONDS:.0f} s; see {log}"
                )
            piece = os.read(child.stdout.fileno(), 4096)
            if not piece:
                code = child.wait()
                raise ModelUnavailable(f"the local model server ended with {code}; see {log}")
            line += piece
    return str(json.loads(line)["url"])


def _stop(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    finally:
        child.stdout.close()
