import socket
import stat

import pytest

from environments.sandbox.exposed.listening import listening_socket


def test_a_socket_may_be_anywhere_and_anybody_may_connect(tmp_path, monkeypatch):
    folder = tmp_path / ("deep" * 40)
    folder.mkdir()
    with listening_socket(folder / "s") as bound, socket.socket(socket.AF_UNIX) as caller:
        bound.listen()
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o666
        monkeypatch.chdir(folder)
        caller.connect("s")
        accepted, _ = bound.accept()
        accepted.close()


def test_a_place_that_is_taken_is_an_error(tmp_path):
    (tmp_path / "s").touch()
    with pytest.raises(OSError, match="in use"):
        listening_socket(tmp_path / "s")
