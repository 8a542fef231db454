"""compose.yaml and what it mounts: valid, of settings that there are, and without a secret."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from flows.config import Settings, load_settings, run_config
from flows.workers.clusters import DASK_SETTINGS

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SECRETS = {"POSTGRES_PASSWORD": "pg", "PREFECT_PASSWORD": "ui", "S3_SECRET_KEY": "s3"}
_REFERENCE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")


def interpolated(value: str) -> str:
    """What Compose makes of a value, with only the secrets set."""

    def given(found: re.Match[str]) -> str:
        if found["name"] in SECRETS:
            return SECRETS[found["name"]]
        assert found["kind"] == "-", f"{found[0]} has no default"
        return found["rest"]

    return _REFERENCE.sub(given, value)


def texts(value: object) -> list[str]:
    """Every text in a part of the file."""
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


def environment(service: str) -> dict[str, str]:
    given = SERVICES[service].get("environment", {})
    return {name: interpolated(value) for name, value in given.items() if value is not None}


def test_each_secret_is_asked_for_and_none_is_written_down():
    asked = [found for text in texts(SERVICES) for found in _REFERENCE.finditer(text)]
    assert {found["name"] for found in asked if found["kind"] == "?"} == set(SECRETS)
    assert {found["name"] for found in asked} - set(SECRETS) <= {
        *("NIGHTSHIFT_IMAGE", "POSTGRES_IMAGE", "S3_IMAGE", "DASK_WORKERS", "PREFECT_PORT"),
        *("DASHBOARD_PORT",),
    }
    for service in SERVICES:
        for name, value in SERVICES[service].get("environment", {}).items():
            if re.search("PASSWORD|SECRET|AUTH_STRING|API_KEY$", name) and value is not None:
                assert _REFERENCE.search(value), f"{service}: {name} is written down"
            for password in re.findall(r"://[^:/]+:([^@]+)@", value or ""):
                assert _REFERENCE.fullmatch(password), f"{service}: {name} has a password"


def test_prepare_writes_every_secret_that_is_asked_for():
    written = re.findall(r"^(\w+)=\$\(random\)$", (ROOT / "deploy/prepare").read_text(), re.M)
    assert set(written) == set(SECRETS)
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_parts_that_are_named_are_there():
    for service, part in SERVICES.items():
        assert set(part.get("depends_on", ())) <= set(SERVICES), service
        for mount in part.get("volumes", ()):
            source = mount.partition(":")[0]
            known = (ROOT / source).exists() if source[0] == "." else source in COMPOSE["volumes"]
            assert known, mount
        for published in part.get("ports", ()):
            assert published.startswith("127.0.0.1:"), f"{service} is open to the network"


@pytest.mark.parametrize("service", ["nightshift", "worker"])
def test_settings_are_those_that_there_are(service, home, monkeypatch, tmp_path):
    given = environment(service)
    for name in (name for name in given if name.startswith("NIGHTSHIFT_")):
        assert name.removeprefix("NIGHTSHIFT_").lower() in Settings.model_fields, name
    # The folder is the container's.
    for name, value in (given | {"NIGHTSHIFT_HOME": str(home)}).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "nightshift.toml").write_text((ROOT / "deploy/nightshift.toml").read_text())

    settings = load_settings()

    assert settings.address.database_url == "postgresql://nightshift:pg@postgres/nightshift"
    if service == "nightshift":
        assert str(settings.dask_tls.key) == "/srv/certificates/dask.key"
        # Nobody serves local models to workers elsewhere.
        models = [agent.model for agent in run_config(settings).agents]
        assert not any(model and model.provider == "local" for model in models)


def test_the_workers_of_the_image_have_the_settings_of_local_ones():
    told = yaml.safe_load((ROOT / "deploy/dask.yaml").read_text())

    def setting(name):
        found = told
        for part in name.split("."):
            found = found[part]
        return found

    assert {name: setting(name) for name in DASK_SETTINGS} == DASK_SETTINGS
    page = (ROOT / "docs/production.md").read_text()
    (block,) = [b for b in re.findall(r"```yaml\n(.*?)```", page, re.S) if "distributed:" in b]
    assert yaml.safe_load(block) == told


def test_the_night_of_the_file_is_configured_as_a_run_can_be():
    told = tomllib.loads((ROOT / "deploy/nightshift.toml").read_text())
    assert run_config(Settings(**told)).bank == "starter"
