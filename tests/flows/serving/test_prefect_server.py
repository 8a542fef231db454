"""A home finds its own Prefect server, and nobody else's."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from flows.serving.prefect_server import running_server


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_args):
        pass


@pytest.fixture
def other_port():
    """The port of a server that is healthy, and another home's."""
    server = HTTPServer(("127.0.0.1", 0), Healthy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("alive", [True, False])
def test_a_port_that_another_home_has_taken_is_not_ours(tmp_path, monkeypatch, other_port, alive):
    pid = os.getpid() if alive else 2**22 + 1
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    folder = tmp_path / "prefect"
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"port": other_port, "pid": pid}))
    assert running_server(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", '{"port": "x", "pid": 1}', '{"port": 4711}'])
def test_half_a_record_is_no_server(tmp_path, monkeypatch, text):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "prefect").mkdir()
    (tmp_path / "prefect" / "server.json").write_text(text)
    assert running_server(tmp_path) is None
