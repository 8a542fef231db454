"""Removed files that are open count, also while they are passed between processes."""

import os
import socket
import threading
from pathlib import Path

import pytest

from environments.sandbox.watching.unnamed import unnamed_bytes

BLOCK = 1 << 16
HERE = Path("/proc/self")


@pytest.fixture
def removed(tmp_path):
    """A file that has no name any more and is open."""
    path = tmp_path / "removed"
    with path.open("wb") as file:
        file.write(bytes(BLOCK))
        file.flush()
        path.unlink()
        yield file


@pytest.fixture
def sockets():
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def space(device: int) -> float:
    return unnamed_bytes(lambda: [HERE], device)


def test_a_removed_file_that_is_open_counts(removed):
    device = os.fstat(removed.fileno()).st_dev
    with_it = space(device)
    removed.close()
    assert with_it - space(device) == BLOCK


def test_what_is_passed_and_never_received_could_be_of_any_size(removed, sockets):
    socket.send_fds(sockets[0], [b"x"], [removed.fileno()] * 8)
    assert space(os.fstat(removed.fileno()).st_dev) == float("inf")


def test_many_descriptors_that_are_soon_received_are_no_hidden_files(removed, sockets):
    """A browser passes up to a dozen at a time while it starts."""
    socket.send_fds(sockets[0], [b"x"], [removed.fileno()] * 8)
    received: list[int] = []
    receiving = threading.Timer(
        0.02, lambda: received.extend(socket.recv_fds(sockets[1], 1, 16)[1])
    )
    receiving.start()
    assert space(os.fstat(removed.fileno()).st_dev) < float("inf")
    receiving.join()
    assert len(received) == 8
    for number in received:
        os.close(number)


def test_who_writes_much_while_descriptors_are_in_transit_is_not_waited_for(
    removed, sockets, tmp_path
):
    """The look ends after the first pause and not after the last, by when more is filled."""
    socket.send_fds(sockets[0], [b"x"], [removed.fileno()] * 8)
    looks = []

    def processes() -> list[Path]:
        looks.append(HERE)
        (tmp_path / "much").write_bytes(bytes(40 << 20))
        return [HERE]

    assert unnamed_bytes(processes, os.fstat(removed.fileno()).st_dev) == float("inf")
    assert len(looks) == 3
