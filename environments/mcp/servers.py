"""The MCP servers that tasks can name: those of this project, and those of this installation."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from taskdata.errors import Misuse
from taskdata.schema.base import RelativePath, Slug, Value
from taskdata.schema.task import Capability

CATALOGUE = Path(__file__).with_name("servers.yaml")

Version = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+\-]*$")]
Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
Package = Annotated[
    str, StringConstraints(pattern=r"^(@[a-z0-9][a-z0-9._\-]*/)?[A-Za-z0-9][A-Za-z0-9._\-]*$")
]
Requirement = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class HealthCheck(Value):
    """A call that shows whether the server works."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    may_refuse: bool = False
    """A refusal passes the check like a result."""


class _Described(Value):
    name: Slug
    about: str
    category: Capability = Capability.OPERATION
    check: HealthCheck


class _Installed(_Described):
    version: Version
    package: Package
    arguments: tuple[str, ...] = ()
    variables: dict[Variable, str] = Field(default_factory=dict)
    """The server's environment variables, in addition to those of the sandbox."""


class PythonServer(_Installed):
    """A package of PyPI that talks on its standard streams."""

    registry: Literal["pypi"]
    module: Module
    """The module that `python -m` starts."""
    constraints: tuple[Requirement, ...] = ()
    """Requirements in addition to the package itself."""


class NodeServer(_Installed):
    """A package of npm that talks on its standard streams."""

    registry: Literal["npm"]
    script: RelativePath
    """The script that `node` starts, below `node_modules`."""


class RemoteServer(_Described):
    """A server at a URL (streamable HTTP), outside of any sandbox."""

    registry: Literal["url"]
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]+$", max_length=2_000)]
    token_variable: Variable | None = None
    """Environment variable of this process that holds the bearer token."""


PackagedServer = PythonServer | NodeServer
Server = Annotated[PythonServer | NodeServer | RemoteServer, Field(discriminator="registry")]

_SERVERS: TypeAdapter[dict[str, Server]] = TypeAdapter(dict[str, Server])


def known_servers(home: Path) -> Mapping[str, Server]:
    """Return the servers by name; `mcp/servers.yaml` in `home` overrides those of this project.

    Raises:
        Misuse: a catalogue cannot be read; names the file and the field.
    """
    own = home / "mcp" / "servers.yaml"
    return {**_bundled(), **(_read(own) if own.is_file() else {})}


def server(name: str, home: Path) -> Server:
    """Return the server called `name`; raises `Misuse` with the known names."""
    known = known_servers(home)
    if name not in known:
        raise Misuse(f"there is no MCP server {name!r}; the catalogue has {', '.join(known)}")
    return known[name]


@cache
def _bundled() -> Mapping[str, Server]:
    return _read(CATALOGUE)


def _read(file: Path) -> Mapping[str, Server]:
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        return _SERVERS.validate_python(
            {name: {"name": name, **entry} for name, entry in entries.items()}
        )
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Misuse(f"{file}: {place}: {first['msg']}") from exc
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError) as exc:
        raise Misuse(f"{file}: is not a catalogue of MCP servers: {exc}") from exc
