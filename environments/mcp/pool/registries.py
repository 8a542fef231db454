"""The package registries that a build may reach: those in the configuration of uv and npm.

A build runs untrusted code, so it is given no password: a registry that asks for one cannot be
used.
"""

import os
import shutil
import socket
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environments.ports import Mount
from taskdata.errors import Misuse
from taskdata.schema.network import is_public, split_pattern

_PYTHON_INDEX = "https://pypi.org/simple"
_NODE_REGISTRY = "https://registry.npmjs.org/"
_FILES_OF = {"pypi.org": ("files.pythonhosted.org",)}
"""Hosts that serve the files of an index, by the host of the index."""

_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_MORE_VARIABLES = ("UV_INDEX", "UV_EXTRA_INDEX_URL")
_CERTIFICATES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE")
_SYSTEM_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_CERTIFICATES_INSIDE = "/opt/build/certificates.pem"
# Timeouts and retries of uv and npm.
_PASSED_ON = (
    *("UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES"),
    *("NPM_CONFIG_FETCH_TIMEOUT", "NPM_CONFIG_FETCH_RETRIES"),
)
_SECONDS = 30


@dataclass(frozen=True)
class Registries:
    """The network settings of a build."""

    hosts: tuple[str, ...]
    """Patterns of the hosts that it may reach, as in `Resources.network`."""
    variables: Mapping[str, str]
    """Environment variables that configure uv and npm."""
    mounts: tuple[Mount, ...]
    """The certificates that this host trusts."""


def registries(also: Iterable[str] = ()) -> Registries:
    """Return the registries of this installation.

    Args:
        also: More hosts, such as the one from which a mirror serves its files.

    Raises:
        Misuse: a registry asks for a password, or its address is not a valid URL.
    """
    index = _index()
    more = [url for name in _MORE_VARIABLES for url in os.environ.get(name, "").split()]
    more = [url.partition("=")[2] if "=" in url.partition("://")[0] else url for url in more]
    more = [url for url in more if urlsplit(url).scheme in ("http", "https")]
    node = _node_registry()
    hosts = dict.fromkeys(host for url in (index, *more, node) for host in _hosts(url))
    variables = {"UV_DEFAULT_INDEX": index, "NPM_CONFIG_REGISTRY": node}
    variables |= {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    if more:
        variables["UV_INDEX"] = " ".join(more)
    certificates = _certificates()
    if certificates is not None:
        names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE")
        variables |= dict.fromkeys(names, _CERTIFICATES_INSIDE)
    mounts = () if certificates is None else (Mount(certificates, _CERTIFICATES_INSIDE),)
    named = (*hosts, *also)
    return Registries((*named, *_private_addresses(named)), variables, mounts)


def _hosts(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Misuse(f"the registry {url!r} is not the address of a server")
    if parts.username or parts.password:
        raise Misuse(
            f"the registry at {parts.hostname} asks for a password, which the code of a build "
            "must not see: set a registry without a password, such as with UV_DEFAULT_INDEX"
        )
    own = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    return (own, *_FILES_OF.get(parts.hostname, ()))


def _private_addresses(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the private addresses of the hosts: a sandbox reaches these only if listed."""
    found = dict[str, None]()
    for host in hosts:
        try:
            name, port = split_pattern(host)
        except ValueError as exc:
            raise Misuse(f"{exc}") from exc
        try:
            entries = socket.getaddrinfo(name, port or 443, type=socket.SOCK_STREAM)
        except OSError:
            # A host without an address is refused with this reason when a build connects to it.
            continue
        for entry in entries:
            address = ip_address(str(entry[4][0]))
            if not is_public(address):
                shown = f"[{address}]" if address.version == 6 else str(address)
                found[f"{shown}:{port}" if port else shown] = None
    return tuple(found)


def _index() -> str:
    for name in _INDEX_VARIABLES:
        if os.environ.get(name):
            return os.environ[name]
    for file in (Path.home() / ".config/uv/uv.toml", Path("/etc/uv/uv.toml")):
        if file.is_file():
            return _stated(file) or _PYTHON_INDEX
    return _PYTHON_INDEX


def _stated(file: Path) -> str | None:
    """Return the default index in a configuration file of uv, None if the file has none."""
    try:
        settings: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise Misuse(f"{file}: cannot be read: {exc}") from exc
    stated = [one.get("url") for one in settings.get("index", []) if one.get("default")]
    url = next(iter(stated), settings.get("index-url"))
    return url if isinstance(url, str) else None


def _node_registry() -> str:
    npm = shutil.which("npm")
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        if os.environ.get(name):
            return os.environ[name]
    if npm is None:
        return _NODE_REGISTRY
    asked = [npm, "config", "get", "registry"]
    try:
        done = subprocess.run(
            asked, check=False, capture_output=True, text=True, timeout=_SECONDS, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Misuse(f"npm's configured registry cannot be read: {exc}") from exc
    return done.stdout.strip() or _NODE_REGISTRY


def _certificates() -> Path | None:
    named = (os.environ.get(name) for name in _CERTIFICATES)
    places = (Path(name) for name in (*named, *_SYSTEM_CERTIFICATES) if name)
    return next((place for place in places if place.is_file()), None)
