"""A local webhook that keeps what it hears."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

SECRET = "hook-token-5e1f"


class Receiver(NamedTuple):
    """A webhook at an address that is a secret."""

    url: str
    heard: list[tuple[str, Any]]
    """Path and body of each message."""


@contextmanager
def receiver(*, answers: bool) -> Iterator[Receiver]:
    """Serve a webhook for the length of the block; one that does not answer keeps all waiting."""
    heard: list[tuple[str, Any]] = []
    ended = threading.Event()

    class Hears(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((self.path, json.loads(body)))
            if not answers:
                ended.wait()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hears)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Receiver(f"http://127.0.0.1:{server.server_port}/{SECRET}", heard)
    finally:
        ended.set()
        server.shutdown()
