"""Where artifacts are kept is said by a URL."""

import pytest
from fsspec import AbstractFileSystem
from fsspec.registry import known_implementations

from taskdata.artifacts import ArtifactStore
from taskdata.errors import Misuse, NightshiftError, StoreUnavailable


def test_a_url_of_an_unknown_kind_is_misuse():
    with pytest.raises(Misuse, match=r"artifacts_url 'cupboard://shelf'.*cupboard"):
        ArtifactStore("cupboard://shelf")


def test_a_file_system_that_is_not_installed_is_misuse_and_named(monkeypatch):
    missing = {"class": "no_such_package.Files", "err": "Install no_such_package to open shelves"}
    monkeypatch.setitem(known_implementations, "shelf", missing)
    with pytest.raises(Misuse, match="Install no_such_package"):
        ArtifactStore("shelf://a/b")


class CloudError(Exception):
    """As libraries of clouds have, which is no OSError."""


class CloudFiles(AbstractFileSystem):
    def exists(self, path, **_):
        raise CloudError("Unable to locate\ncredentials")

    cat_file = rm_file = info = exists


def test_what_the_library_of_a_cloud_raises_is_an_error_of_ours(monkeypatch):
    there = {"class": f"{__name__}.CloudFiles"}
    monkeypatch.setitem(known_implementations, "cloud", there)
    store = ArtifactStore("cloud://bucket")
    for ask in (
        lambda: store.put_bytes(b"x"),
        lambda: store.read_bytes("0" * 64),
        lambda: store.head("0" * 64, 5),
        lambda: store.remove("0" * 64),
    ):
        with pytest.raises(StoreUnavailable, match=r"cloud://bucket.*locate credentials"):
            ask()


def test_artifacts_are_stored_once_and_corruption_is_noticed(store, tmp_path, kept_file):
    sha256 = store.artifacts.put_bytes(b"figures")
    assert store.artifacts.put_bytes(b"figures") == sha256
    assert store.artifacts.read_bytes(sha256) == b"figures"
    kept_file(sha256).write_bytes(b"forged!")
    with pytest.raises(NightshiftError, match="corrupt"):
        store.artifacts.read_bytes(sha256)
    with pytest.raises(NightshiftError, match="not in"):
        store.artifacts.read_bytes("0" * 64)
