"""The MCP servers that tasks can name: those of this project, and those of this installation."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Base64Bytes, Field, StringConstraints, TypeAdapter, ValidationError

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
ServiceKind = Literal["postgresql", "mail"]


class HealthCheck(Value):
    """A call that shows whether the server works."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    files: dict[RelativePath, Base64Bytes] = Field(default_factory=dict)
    """Files that are below `input/` during the call."""
    may_refuse: bool = False
    """A refusal passes the check like a result."""


class ServerNeeds(Value):
    """What a server needs besides its package."""

    service: ServiceKind | None = None
    """Kind of a service; the server uses the task's first service of that kind."""
    network: bool = False
    """Whether its tools connect to hosts; the task lists these in `resources.network`."""
    programs: tuple[str, ...] = ()
    """Programs that the sandbox must have, as absolute paths or by name."""


class _Described(Value):
    name: Slug
    about: str
    category: Capability = Capability.OPERATION
    check: HealthCheck


class _Installed(_Described):
    version: Version
    package: Package
    licence: str | None = None
    """Licence of the package, as an SPDX identifier."""
    needs: ServerNeeds = ServerNeeds()
    arguments: tuple[str, ...] = ()
    """`${NAME}` stands for the value of a variable in the sandbox, such as one of a service."""
    variables: dict[Variable, str] = Field(default_factory=dict)
    """The server's environment variables, in addition to those of the sandbox; `${NAME}` as in
    `arguments`."""


class PythonServer(_Installed):
    """A package of PyPI that talks on its standard streams."""

    registry: Literal["pypi"]
    module: Module
    """The module that `python -m` starts."""
    function: Variable | None = None
    """A function of the module to call instead, as the package's console script does."""
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


class OwnServer(_Described):
    """Tools of this project, served inside the sandbox; there is nothing to install."""

    registry: Literal["ours"]
    tools: tuple[str, ...] = Field(min_length=1)
    """Names of sandboxed tools."""


PackagedServer = PythonServer | NodeServer
Server = Annotated[
    PythonServer | NodeServer | RemoteServer | OwnServer, Field(discriminator="registry")
]

_SERVERS: TypeAdapter[dict[str, Server]] = TypeAdapter(dict[str, Server])


def known_servers(home: Path) -> Mapping[str, Server]:
    """Return the servers by name; `mcp/servers.yaml` in `home` overrides those of this project.

    Raises:
        Misuse: a catalogue cannot be read; names the file and the field.
    """
    own = home / "mcp" / "servers.yaml"
    return {**_bundled(), **(read_catalogue(own) if own.is_file() else {})}


def server(name: str, home: Path) -> Server:
    """Return the server called `name`; raises `Misuse` with the known names."""
    known = known_servers(home)
    if name not in known:
        raise Misuse(f"there is no MCP server {name!r}; the catalogue has {', '.join(known)}")
    return known[name]


def origin(entry: Server) -> str:
    """Return on one line where a server comes from: package and version, a URL, or our tools."""
    match entry:
        case RemoteServer():
            return entry.url
        case OwnServer():
            return f"our tools {', '.join(entry.tools)}"
        case _:
            return f"{entry.package} {entry.version}"


def needs_of(entry: Server) -> str:
    """Return in a few words what a server needs besides its package; empty if nothing."""
    if not isinstance(entry, PackagedServer):
        return ""
    needs = entry.needs
    words = [
        *(("Node.js",) if isinstance(entry, NodeServer) else ()),
        *((f"service {needs.service}",) if needs.service else ()),
        *(("network",) if needs.network else ()),
        *(program.rpartition("/")[2] for program in needs.programs),
    ]
    return ", ".join(words)


@cache
def _bundled() -> Mapping[str, Server]:
    return read_catalogue(CATALOGUE)


def read_catalogue(file: Path) -> Mapping[str, Server]:
    """Return the servers of a catalogue by name, in its order.

    Raises:
        Misuse: the catalogue cannot be read; names the file and the field.
    """
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
