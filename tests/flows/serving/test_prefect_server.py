"""A home finds its own Prefect server, and nobody else's."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from flows.serving.prefect_server import running_server, ui_line

SEEN = """
import sys
from pathlib import Path
from flows.serving.prefect_server import prefect_server

with prefect_server(Path(sys.argv[1]), 0):
    from prefect.settings import get_current_settings
    from prefect.context import TagsContext

    seen = get_current_settings()
    print(
        seen.api.url,
        seen.flows.heartbeat_frequency,
        seen.runner.poll_frequency,
        ",".join(seen.logging.extra_loggers),
        *TagsContext.get().current_tags,
    )
"""


class Healthy(BaseHTTPRequestHandler):
    """As much of Prefect as says that it is there; only below /api."""

    def do_GET(self):
        if self.path.startswith("/api/csrf-token"):
            self._answer(422, b"CSRF protection is disabled.")
        else:
            self._answer(200, b"true" if self.path.startswith("/api/") else b"<!doctype html>")

    def do_POST(self):
        is_api = self.path.startswith("/api/")
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200 if is_api else 405, b"[]")

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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
    known = {"api": f"http://127.0.0.1:{other_port}/api", "dashboards": "", "pid": pid}
    (folder / "server.json").write_text(json.dumps(known))
    assert running_server(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"api": "x", "dashboards": "y", "pid": "z"}', '{"api": "x"}']
)
def test_half_a_record_is_no_server(tmp_path, monkeypatch, text):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "prefect").mkdir()
    (tmp_path / "prefect" / "server.json").write_text(text)
    assert running_server(tmp_path) is None


def with_given_server(home, url, **environment):
    return subprocess.run(
        [sys.executable, "-c", SEEN, str(home)],
        env=os.environ | {"PREFECT_API_URL": url} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_flow_runs_on_a_server_of_the_users_beat_log_and_are_tagged_as_on_ours(home, other_port):
    url = f"http://127.0.0.1:{other_port}/api"
    done = with_given_server(home, url, PREFECT_RUNNER_POLL_FREQUENCY="7")
    assert done.returncode == 0, done.stderr
    seen, heartbeat, poll, loggers, tag = done.stdout.split()
    assert (seen, heartbeat, poll, tag) == (url, "30", "7", "nightshift")
    assert {"stages", "environments"} <= set(loggers.split(","))
    assert not (home / "prefect").exists()


def test_a_server_of_the_users_that_does_not_answer_is_named(nightshift, home, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    said = nightshift("run", "--agent", "nop")
    assert said.returncode == 1
    assert "Connecting to the Prefect server http://127.0.0.1:9/api" in said.stdout
    (line,) = said.stderr.splitlines()
    assert "PREFECT_API_URL=http://127.0.0.1:9/api" in line
    assert "internal error" not in line


def test_an_address_without_api_is_no_server(home, other_port):
    done = with_given_server(home, f"http://127.0.0.1:{other_port}")
    assert "NightshiftError: Prefect server PREFECT_API_URL=" in done.stderr
    assert "such as http://HOST:4200/api" in done.stderr


@pytest.mark.parametrize("asked", [("run", "--keep-server"), ("serve", "--port", "5000")])
def test_options_of_our_own_server_are_refused_beside_another(command, home, monkeypatch, asked):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    done = command(*asked)
    assert (done.returncode, "PREFECT_API_URL" in done.stderr) == (2, True)


FAILING = """
import sys
from pathlib import Path
from flows.serving.prefect_server import prefect_server

def fail():
    raise SystemExit("no workers")

with prefect_server(Path(sys.argv[1]), 0, meanwhile=fail):
    pass
"""


def test_who_fails_while_the_server_starts_leaves_none(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    failed = subprocess.run(
        [sys.executable, "-c", FAILING, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert failed.stderr.strip().endswith("no workers")
    servers = subprocess.run(
        ["pgrep", "-f", f"flows.serving.server_process .*{tmp_path}"], capture_output=True
    )
    assert servers.stdout == b""


def test_the_line_about_the_ui_names_the_file_with_the_login(home, monkeypatch):
    monkeypatch.setenv("PREFECT_HOME", str(home.resolve() / "prefect"))
    line = ui_line(home, "http://127.0.0.1:4711/api")
    assert line == f"Prefect UI: http://127.0.0.1:4711 (login: in {home}/login)"
    monkeypatch.setenv("PREFECT_HOME", "/elsewhere")
    assert ui_line(home, "http://prefect.example:4200/api") == (
        "Prefect UI: http://prefect.example:4200"
    )
