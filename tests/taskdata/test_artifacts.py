"""Where artifacts are kept is said by a URL."""

import pytest
from fsspec.registry import known_implementations

from taskdata.artifacts import ArtifactStore
from taskdata.errors import Misuse


def test_a_url_of_an_unknown_kind_is_misuse():
    with pytest.raises(Misuse, match=r"artifacts_url 'cupboard://shelf'.*cupboard"):
        ArtifactStore("cupboard://shelf")


def test_a_file_system_that_is_not_installed_is_misuse_and_named(monkeypatch):
    missing = {"class": "no_such_package.Files", "err": "Install no_such_package to open shelves"}
    monkeypatch.setitem(known_implementations, "shelf", missing)
    with pytest.raises(Misuse, match="Install no_such_package"):
        ArtifactStore("shelf://a/b")
