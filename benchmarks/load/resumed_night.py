"""The command carries on a large run: when it says what, and when the model is first asked."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

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


@contextmanager
def noting_server() -> Iterator[NotingServer]:
    """Yield a running server on a free port of this machine; it is this process's own."""
    body = json.dumps(_ANSWER).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            noting.asked.append(time.time())
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


@dataclass(frozen=True)
class Line:
    """What the command said, and when, in seconds from its start."""

    at: float
    text: str


def carried_on(home: Path, artifacts_url: str, run_id: str) -> tuple[float, list[Line]]:
    """Carry a run on with the command; return when it started and what it said.

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
        lines = [Line(time.time() - began, text.rstrip()) for text in command.stdout]
    if command.returncode:
        raise SystemExit("\n".join(line.text for line in lines))
    return began, lines
