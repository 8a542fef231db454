"""The relay by itself: it becomes the program and goes with it."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from environments.sandbox.exposed import relay


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def relayed(port: int, path: Path, *argv: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-I", "-S", relay.__file__, f"{port}={path}", "--", *argv]
    return subprocess.Popen(line, stdin=-1, stdout=-1, stderr=-1)


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_it_listens_before_the_program_starts_and_as_long_as_it_runs(port, tmp_path, eventually):
    # The shell's own child outlives it, and holds nothing of ours.
    script = "echo $PPID; sleep 5 >/dev/null 2>&1 </dev/null & read line; exit 7"
    program = relayed(port, tmp_path / "s", "/bin/sh", "-c", script)
    assert program.stdout is not None
    first = program.stdout.readline()

    assert is_open(port)
    assert int(first) != program.pid
    _, said = program.communicate(b"go\n", timeout=5)
    assert (program.returncode, said) == (7, b"")
    assert eventually(lambda: not is_open(port))


def test_a_port_that_is_taken_is_told_before_the_program_starts(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        program = relayed(taken.getsockname()[1], tmp_path / "s", "/bin/echo", "started")
        out, said = program.communicate(timeout=5)

    assert (program.returncode, out) == (125, b"")
    assert said.startswith(b"the relay to the sandbox's exposed ports failed: ")


def test_a_busy_service_is_waited_for(port: int, tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "s"))
        service.listen(0)
        program = relayed(port, tmp_path / "s", "/bin/cat")
        while not is_open(port):
            assert program.poll() is None
        clients = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(4)]
        for client in clients:
            client.sendall(b"hello")
        heard = []
        service.settimeout(5)
        while len(heard) < len(clients):
            connection, _ = service.accept()
            with connection:
                connection.settimeout(5)
                # The attempts to find the port open say nothing.
                if text := connection.recv(9):
                    heard.append(text)
        for client in clients:
            client.close()
        program.communicate(timeout=5)

    assert heard == [b"hello"] * 4
