"""Attacks on our own Prefect server, whose API runs code for whoever may use it.

From other accounts of the machine, from pages of other sites, and from names that a page has
made lead to this machine.
"""

import base64
import json
import os
import subprocess
import sys
import threading

import pytest

from flows.serving.server_process import server_environment
from flows.serving.tokens import kept_token

LOGIN = "nightshift:sesame"
BASIC = {"authorization": "Basic " + base64.b64encode(LOGIN.encode()).decode()}
OURS = "http://127.0.0.1:4711"
ELSEWHERE = "http://evil.example"

REQUESTS = {
    "health": ("GET", "/api/health", {}),
    "stranger": ("POST", "/api/deployments/filter", {}),
    "wrong login": ("GET", "/api/admin/version", {"authorization": "Basic d3Jvbmc6b25l"}),
    "login": ("GET", "/api/admin/version", BASIC),
    "by name": ("GET", "/api/admin/version", BASIC | {"host": "localhost:4711"}),
    "renamed": ("GET", "/api/admin/version", BASIC | {"host": "rebound.example:4711"}),
    "renamed UI": ("GET", "/", {"host": "rebound.example:4711"}),
    "nameless": ("GET", "/api/admin/version", BASIC | {"host": ""}),
    "other origin": ("GET", "/api/admin/version", BASIC | {"origin": ELSEWHERE}),
    "null origin": ("GET", "/api/admin/version", BASIC | {"origin": "null"}),
    "other port": ("GET", "/api/admin/version", BASIC | {"origin": "http://127.0.0.1:4712"}),
    "own origin": ("GET", "/api/admin/version", BASIC | {"origin": OURS}),
    "preflight": (
        "OPTIONS",
        "/api/deployments/filter",
        {
            "origin": ELSEWHERE,
            "access-control-request-method": "PATCH",
            "access-control-request-headers": "authorization",
        },
    ),
}

ASKING = """
import json, sys
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from flows.serving.server_process import server_app

asked = TestClient(server_app(), base_url="http://127.0.0.1:4711", raise_server_exceptions=False)
told = {}
for name, (method, path, headers) in json.load(sys.stdin).items():
    reply = asked.request(method, path, headers=headers)
    told[name] = [reply.status_code, reply.headers.get("access-control-allow-origin")]
for path in ("/api/events/in", "/api/events/out", "/api/logs/out"):
    try:
        with asked.websocket_connect(path, subprotocols=["prefect"]) as socket:
            socket.send_json({"type": "auth", "token": "wrong"})
            socket.receive_json()
        told[path] = ["open", None]
    except WebSocketDisconnect:
        told[path] = ["closed", None]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the server answers to each of the requests: status, and the origin it lets read it."""
    home = str(tmp_path_factory.mktemp("prefect"))
    done = subprocess.run(
        [sys.executable, "-c", ASKING],
        input=json.dumps(REQUESTS),
        env=server_environment(os.environ | {"PREFECT_HOME": home}, 4711, LOGIN),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: tuple(answer) for name, answer in json.loads(done.stdout).items()}


def test_who_has_the_login_is_answered(told):
    assert (told["health"], told["login"], told["by name"]) == ((200, None),) * 3
    assert told["own origin"] == (200, OURS)


@pytest.mark.parametrize("name", ["stranger", "wrong login"])
def test_who_has_none_is_refused(told, name):
    assert told[name][0] == 401


@pytest.mark.parametrize("path", ["/api/events/in", "/api/events/out", "/api/logs/out"])
def test_streams_want_the_login_too(told, path):
    assert told[path][0] == "closed"


@pytest.mark.parametrize("name", ["renamed", "renamed UI", "nameless"])
def test_another_host_is_refused(told, name):
    assert told[name][0] == 400


@pytest.mark.parametrize("name", ["other origin", "null origin", "other port", "preflight"])
def test_a_page_of_another_origin_reads_nothing(told, name):
    assert told[name][1] is None


def test_the_server_has_no_key_in_its_environment():
    keys = {"OPENAI_API_KEY": "sk-1", "AWS_SECRET_ACCESS_KEY": "2", "PREFECT_API_KEY": "pnu_3"}
    needed = {"PATH": "/bin", "LC_ALL": "C", "PREFECT_HOME": "/home/prefect"}
    given = server_environment(keys | needed | {"ANYTHING_ELSE": "4"}, 4711, LOGIN)
    assert needed.items() <= given.items()
    assert not {*keys, "ANYTHING_ELSE"} & set(given)


def test_a_token_is_one_for_all_and_nobody_elses(tmp_path):
    file, found = tmp_path / "token", []
    threads = [threading.Thread(target=lambda: found.append(kept_token(file))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(found[0]) > 40
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
    file.chmod(0o644)
    assert kept_token(file) == found[0]
    assert file.stat().st_mode & 0o777 == 0o600
