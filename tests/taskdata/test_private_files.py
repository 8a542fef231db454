"""References and trials are in files that other accounts of the machine cannot read."""

import os
import stat

import pytest

from taskdata.private_files import private_folder, tighten
from taskdata.store import Store, StoreAddress

FILES = ("nightshift.db", "nightshift.db-wal", "nightshift.db-shm")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def address(tmp_path):
    home = tmp_path / "home"
    return StoreAddress(
        database_url=f"sqlite:///{home}/nightshift.db", artifacts_url=f"file://{home}/artifacts"
    )


@pytest.fixture(params=[0o022, 0o000], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_new_store_is_its_owners(tmp_path, address):
    store = Store.open(address)
    home = tmp_path / "home"
    assert mode(home) == 0o700
    assert {mode(home / name) for name in FILES} == {0o600}
    store.close()


def test_an_open_store_that_others_could_read_is_tightened(tmp_path, address):
    first = Store.open(address)
    files = [tmp_path / "home" / name for name in FILES]
    for file in files:
        file.chmod(0o644)
    second = Store.open(address)
    assert {mode(file) for file in files} == {0o600}
    second.close()
    first.close()


def test_a_folder_that_is_there_is_tightened(tmp_path):
    tmp_path.chmod(0o755)
    private_folder(tmp_path)
    assert mode(tmp_path) == 0o700


def test_what_everybody_writes_to_stays_everybodys(tmp_path):
    tmp_path.chmod(0o1777)
    tighten(tmp_path)
    assert mode(tmp_path) == 0o1777
    tighten(tmp_path / "missing")


def test_a_database_in_memory_makes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite://", "sqlite:///:memory:"):
        Store(StoreAddress(database_url=url, artifacts_url=f"file://{tmp_path}/a")).close()
    assert not list(tmp_path.glob("*memory*"))
