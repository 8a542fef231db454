"""What docs/production.md says can be configured can be."""

import re
import tomllib
from pathlib import Path

import prefect.settings
import yaml

from environments.models.money.prices import PRICES_VARIABLE
from flows.config import Settings, load_settings
from flows.workers.clusters import DASK_SETTINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text()
OF_COMPOSE = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
"""Variables that compose.yaml alone reads."""


def test_the_settings_are_taken(home, tmp_path, monkeypatch):
    monkeypatch.delenv("NIGHTSHIFT_HOME")  # wins over the file
    text = "\n".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
    (tmp_path / "nightshift.toml").write_text(text)
    told = tomllib.loads(text)
    settings = load_settings()
    (tmp_path / "nightshift.toml").unlink()
    monkeypatch.delenv("NIGHTSHIFT_HOME")  # where rooms below find it
    assert settings == Settings(**told)
    assert all(getattr(settings, name) != getattr(Settings(), name) for name in told)


def test_the_variables_are_ours_or_prefects():
    for name in set(re.findall(r"\bPREFECT_[A-Z_]+", PAGE)) - OF_COMPOSE:
        assert hasattr(prefect.settings, name), name
    ours = {f"NIGHTSHIFT_{name.upper()}" for name in Settings.model_fields} | {PRICES_VARIABLE}
    told = set(re.findall(r"\bNIGHTSHIFT_[A-Z_]*[A-Z]\b", PAGE))
    assert told <= ours | OF_COMPOSE


def test_a_dask_cluster_of_ones_own_is_told_what_ours_is():
    section = PAGE.partition("\n## Your own Dask cluster\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert dict(flat(yaml.safe_load(block))) == DASK_SETTINGS


def flat(tree, *path):
    """The values of nested settings, by their names with dots."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, *path, name)
        else:
            yield ".".join((*path, name)), value
