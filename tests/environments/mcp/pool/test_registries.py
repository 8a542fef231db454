"""Builds reach the registries that uv and npm are configured with, and are given no password."""

import pytest

from environments.mcp.pool.registries import registries
from taskdata.errors import Misuse


@pytest.fixture(autouse=True)
def configured(monkeypatch):
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://192.0.2.7:8080/simple")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://127.0.0.1/npm/")
    return monkeypatch


def test_the_hosts_are_those_of_the_configuration(configured):
    configured.setenv("UV_INDEX", "own=http://127.0.0.1:81/more /wheels")
    found = registries(["files.example"])
    named = ("192.0.2.7:8080", "127.0.0.1:81", "127.0.0.1", "files.example")
    assert found.hosts[:4] == named
    assert found.variables["UV_DEFAULT_INDEX"] == "http://192.0.2.7:8080/simple"
    assert found.variables["UV_INDEX"] == "http://127.0.0.1:81/more"
    assert found.variables["NPM_CONFIG_REGISTRY"] == "https://127.0.0.1/npm/"


def test_a_registry_in_this_network_is_reached_at_its_address(configured):
    configured.setenv("NPM_CONFIG_REGISTRY", "http://localhost:4873")
    assert "127.0.0.1:4873" in registries().hosts


@pytest.mark.parametrize("url", ["https://eve:secret@index.example/simple", "/srv/simple"])
def test_a_password_and_what_is_no_address_are_refused(configured, url):
    configured.setenv("UV_DEFAULT_INDEX", url)
    with pytest.raises(Misuse) as refused:
        registries()
    assert "secret" not in str(refused.value)


def test_a_host_that_is_none_is_refused():
    with pytest.raises(Misuse, match="not a host"):
        registries(["not a host"])
