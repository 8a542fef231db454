"""Which exposed ports a sandbox can have."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from environments.ports import ExposedPort
from environments.sandbox.exposed.inside import check_exposed_ports, relayed
from taskdata.errors import Misuse, SandboxFailed


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A socket that somebody listens on, with a lock file beside it as PostgreSQL has."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        (tmp_path / "s.lock").touch()
        yield tmp_path / "s"


def test_exposed_ports_that_can_be(path: Path):
    check_exposed_ports(
        [ExposedPort(1024, path), ExposedPort(65535, path, (("PGHOST", "127.0.0.1"),))]
    )


@pytest.mark.parametrize(
    ("ports", "wrong"),
    [((5432, 5432), "two exposed ports.*5432"), ((80,), "port 80"), ((70000,), "70000")],
)
def test_ports_are_free_and_apart(path: Path, ports: tuple[int, ...], wrong: str):
    with pytest.raises(Misuse, match=wrong):
        check_exposed_ports([ExposedPort(port, path) for port in ports])


@pytest.mark.parametrize("name", ["", "A=B", "1ST", "A\nB", "A B"])
def test_a_variable_has_a_name(path: Path, name: str):
    with pytest.raises(Misuse, match="cannot be set"):
        check_exposed_ports([ExposedPort(5432, path, ((name, "x"),))])


def test_a_name_too_long_for_a_socket_is_misuse(path: Path):
    with pytest.raises(Misuse, match="too long"):
        check_exposed_ports([ExposedPort(5432, path.with_name("s" * 100))])


def test_a_folder_with_anything_else_in_it_is_not_shown(path: Path):
    (path.parent / "answers.json").touch()

    with pytest.raises(SandboxFailed, match=r"answers\.json.*a folder of its own"):
        check_exposed_ports([ExposedPort(5432, path)])


def test_a_folder_that_is_a_link_is_not_shown(path: Path, tmp_path: Path):
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(path.parent)

    with pytest.raises(SandboxFailed, match="cannot be read"):
        check_exposed_ports([ExposedPort(5432, link / path.name)])


def test_a_folder_full_of_locks_is_not_looked_through(path: Path):
    for number in range(20):
        (path.parent / f"{number}.lock").touch()

    with pytest.raises(SandboxFailed, match="a folder of its own"):
        check_exposed_ports([ExposedPort(5432, path)])


def test_without_exposed_ports_nothing_stands_before_a_command():
    assert relayed("python3", ()) == ()
