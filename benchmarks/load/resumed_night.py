"""The command carries on a large run: when it says what, and when the model is first asked."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flows.serving.prefect_server import running_server

_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_750_000_000,
    "model": "benchmark-model",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Done."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520},
}


@dataclass
class NotingServer:
    """A model that answers at once, and when it was asked."""

    url: str
    asked: list[float] = field(default_factory=list)
    """In seconds since the epoch."""
    was_asked: threading.Event = field(default_factory=threading.Event)


@contextmanager
def noting_server() -> Iterator[NotingServer]:
    """Yield a running server on a free port of this machine; it is this process's own."""
    body = json.dumps(_ANSWER).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            noting.asked.append(time.time())
            noting.was_asked.set()
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        noting = NotingServer(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield noting
        finally:
            server.shutdown()


_SERVER_ONCE = """
import sys
from pathlib import Path
from flows.serving.prefect_server import prefect_server

with prefect_server(Path(sys.argv[1]), 0):
    pass
"""


def serve_once(home: Path) -> None:
    """Have the Prefect server make its database, as the command that began a run has done."""
    subprocess.run([sys.executable, "-c", _SERVER_ONCE, str(home)], check=True)
    while running_server(home) is not None:
        time.sleep(0.2)


@dataclass(frozen=True)
class Line:
    """What the command said, and when, in seconds from its start."""

    at: float
    text: str
    cpu_s: Mapping[str, float]
    """What had been used by then, by kind of process; empty where nobody looked."""


def carried_on(
    home: Path,
    artifacts_url: str,
    run_id: str,
    until: threading.Event | None = None,
    used: Callable[[], Mapping[str, float]] = dict,
) -> tuple[float, list[Line]]:
    """Carry a run on with the command; return when it started and what it said.

    Args:
        home: Of the state.
        artifacts_url: Of the store.
        run_id: The run.
        until: The command is interrupted once this is set; None: it is let finish.
        used: Returns the CPU seconds used by now; called at every line.

    Raises:
        SystemExit: It failed.
    """
    places = {"NIGHTSHIFT_HOME": str(home), "NIGHTSHIFT_ARTIFACTS_URL": artifacts_url}
    began = time.time()
    with subprocess.Popen(
        [sys.executable, "-m", "flows.cli.app", "run", "--resume", run_id],
        cwd=home,
        env=os.environ | places,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as command:
        if command.stdout is None:
            raise RuntimeError("the command has no standard output")
        if until is not None:
            threading.Thread(target=_interrupt, args=(command, until), daemon=True).start()
        lines = [Line(time.time() - began, text.rstrip(), used()) for text in command.stdout]
    if command.returncode and not (until and until.is_set()):
        raise SystemExit("\n".join(line.text for line in lines))
    return began, lines


def _interrupt(command: "subprocess.Popen[str]", until: threading.Event) -> None:
    until.wait()
    command.send_signal(signal.SIGINT)
