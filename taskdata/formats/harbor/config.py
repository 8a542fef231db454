"""Reads `task.toml`, version 1.

Sections and keys that Nightshift cannot run (several containers, GPUs, steps, variables that hold
keys) are refused by name. All others that no field of a task takes are kept with the task.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from taskdata.formats.files import Folder
from taskdata.formats.rows import refusal
from taskdata.places import UNSTORABLE, first_place, is_not_finite, is_unstorable
from taskdata.schema.base import Value
from taskdata.schema.network import HostPattern

CONFIG = "task.toml"
_MAX_CONFIG = 1 << 20
_MAX_DEPTH = 20
_MAJOR = "1"
_REFUSED: Mapping[tuple[str, str], str] = {
    ("environment", "env"): "variables are not passed on to programs",
    ("environment", "gpus"): "no sandbox has a GPU",
    ("environment", "healthcheck"): "nothing is started for a task",
    ("environment", "mcp_servers"): "a task's own MCP servers are not started",
    ("environment", "nodes"): "a task here is one container",
    ("environment", "type"): "a task here is one container of a local Docker engine",
    ("verifier", "collect"): "nothing runs between the agent and the verifier",
    ("verifier", "env"): "variables are not passed on to programs",
    ("verifier", "environment"): "the verifier runs in the image of the task",
    ("verifier", "environment_mode"): "the verifier runs in the image of the task",
    ("solution", "env"): "variables are not passed on to programs",
}
"""Keys that must be absent or empty, with the reason."""


class _Section(Value):
    model_config = Value.model_config | {"extra": "ignore"}


class Timed(_Section):
    """`[agent]` and `[verifier]`."""

    timeout_sec: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Environment(_Section):
    """`[environment]`."""

    docker_image: str | None = Field(default=None, min_length=1)
    memory_mb: int | None = Field(default=None, ge=64)
    memory: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,3})?\s*[GMKgmk]$")
    """The older form of `memory_mb`, such as `4G`."""
    storage_mb: int | None = Field(default=None, ge=1)
    storage: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,3})?\s*[GMKgmk]$")
    allowed_hosts: tuple[HostPattern, ...] = Field(default=(), max_length=64)

    @property
    def memory_megabytes(self) -> int | None:
        """Memory in MB, from either key."""
        return self.memory_mb or _megabytes(self.memory)

    @property
    def storage_megabytes(self) -> int | None:
        """Disk space in MB, from either key."""
        return self.storage_mb or _megabytes(self.storage)


class TaskConfig(_Section):
    """The content of `task.toml`."""

    version: str = Field(default="1.0", max_length=20)
    schema_version: str | None = Field(default=None, max_length=20)
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Values of any kind, which the task's authors choose."""
    agent: Timed = Timed()
    verifier: Timed = Timed()
    environment: Environment = Environment()


def read_config(folder: Folder) -> tuple[TaskConfig, dict[str, Any]]:
    """Return the configuration of a task folder, and the whole content of its file.

    Raises:
        RowRefused: the file cannot be read, is of another version, or describes a task that
            Nightshift cannot run.
        ValidationError: a value does not fit.
    """
    file, place = folder.find(CONFIG, CONFIG)
    if file.size_bytes > _MAX_CONFIG:
        raise refusal(CONFIG, f"larger than {_MAX_CONFIG >> 20} MB")
    raw = _toml(place)
    _require_storable(raw)
    for where, why in _refused(raw):
        raise refusal(f"{CONFIG}: {where}", why)
    config = TaskConfig.model_validate(raw)
    version = config.schema_version or config.version
    if version.partition(".")[0] != _MAJOR:
        raise refusal(f"{CONFIG}: version", f"{version!r} is not version {_MAJOR}", version)
    return config, raw


def _toml(place: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except UnicodeDecodeError as exc:
        raise refusal(CONFIG, f"not UTF-8 at byte {exc.start}") from exc
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as exc:
        raise refusal(CONFIG, f"not TOML: {str(exc).splitlines()[0]}") from exc


def _require_storable(raw: dict[str, Any]) -> None:
    # A dotted key nests as deep as it is long, and the checks below recurse.
    waiting: list[tuple[Any, int]] = [(raw, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise refusal(CONFIG, f"nested deeper than {_MAX_DEPTH} tables")
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            waiting += [(part, depth + 1) for part in inner]
    for is_bad, why in ((is_unstorable, UNSTORABLE), (is_not_finite, "every number is finite")):
        if (place := first_place(raw, is_bad)) is not None:
            raise refusal(f"{CONFIG}: {place.where}", why, place.found)


def _refused(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if raw.get("steps"):
        yield "steps", "a task has one query here, not several steps"
    for (section, key), why in _REFUSED.items():
        found = raw.get(section)
        if isinstance(found, Mapping) and found.get(key):
            yield f"{section}.{key}", why


def _megabytes(size: str | None) -> int | None:
    if size is None:
        return None
    number, unit = float(size[:-1].strip()), size[-1].upper()
    return max(1, int(number * {"G": 1024, "M": 1, "K": 1 / 1024}[unit]))
