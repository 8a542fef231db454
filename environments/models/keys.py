"""API keys: read from the environment, else from the machine's keyring, and nowhere else.

A key is sent only to the servers that it is paired with. A run's configuration cannot pair a key
with a server, because anybody who can start a run could write it and so obtain the key.
`nightshift.toml` can; its pairs are handed to other processes, also on other machines, in the
environment variable `PAIRS_VARIABLE`.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from environments.models.providers import PROVIDERS, ModelProvider
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec

PAIRS_VARIABLE = "NIGHTSHIFT_KEY_PAIRS"
"""Environment variable with the paired servers by key name, as JSON."""

_PORTS = {"http": 80, "https": 443}
_PRINTED = re.compile(r"[!-\[\]-~]+")  # ASCII without spaces and backslash
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")

NO_KEY = "none"
"""Placeholder for no key; servers that need none accept any."""

KEYRING_SERVICE = "nightshift"
"""Service name of the keys in the keyring; the user name is the environment variable."""


def find_key(variable: str) -> str | None:
    """Return the key, or None; a missing or locked keyring counts as empty."""
    key = os.environ.get(variable, "").strip()
    return key or _in_keyring(variable)


def required_key(variable: str) -> str:
    """Return the key; raises `Misuse`, which names both places for it, if there is none."""
    key = find_key(variable)
    if key is None:
        raise Misuse(
            f"set the environment variable {variable}, or store the key with "
            f"`keyring set {KEYRING_SERVICE} {variable}`"
        )
    return key


def key_for(spec: ModelSpec, provider: ModelProvider, url: str) -> str:
    """Return the key for the server at that URL, or the placeholder for none.

    Raises:
        Misuse: a key is needed and missing, or must not be sent to that server.
    """
    variable = provider.key_variable
    if variable is None:
        return NO_KEY
    try:
        key = required_key(variable) if provider.key_required else find_key(variable)
    except Misuse as exc:
        raise Misuse(f"model {spec}: {exc}") from None
    # Without a key, the machine's own credentials may be used.
    if key is None and provider.signs_in_with is None:
        return NO_KEY
    server = _server_of(url)
    if not (_is_own(provider, server) or _is_paired(variable, server)):
        raise Misuse(
            f"model {spec}: {variable} is not sent to {server}: nothing of yours pairs them; "
            f'under [key_hosts] in nightshift.toml `{spec.provider} = ["{server}"]` does'
        )
    return key or NO_KEY


def _is_own(provider: ModelProvider, server: str) -> bool:
    """Whether a server is the provider's own, or named by the environment like the key itself."""
    beside = os.environ.get(provider.base_url_variable or "")
    if beside and server == _server_of(beside):
        return True
    own_url = provider.own_url()
    if own_url is None:
        return False
    own = _server_of(own_url).removeprefix("https://")
    # Providers have regional servers, such as eu.api.openai.com.
    return server == f"https://{own}" or (
        server.startswith("https://") and server.endswith(f".{own}")
    )


def pair_keys(servers: Mapping[str, Iterable[str]]) -> None:
    """Pair the keys of providers with further servers, given as URLs by provider.

    Raises:
        Misuse: a provider is unknown or has no key, or a URL names no server.
    """
    for name, urls in servers.items():
        variable = PROVIDERS.get(name, ModelProvider()).key_variable
        if variable is None:
            known = ", ".join(name for name, provider in PROVIDERS.items() if provider.key_variable)
            raise Misuse(f"key_hosts.{name}: no provider with a key; there are {known}")
        _pair(variable, urls)


def pair_endpoints(endpoints: Iterable[tuple[ModelSpec, str | None]]) -> None:
    """Pair the keys of those models' providers with their base URLs."""
    for spec, url in endpoints:
        variable = PROVIDERS.get(spec.provider, ModelProvider()).key_variable
        if variable and url:
            # An invalid endpoint is reported when it is used.
            with suppress(Misuse):
                _pair(variable, [url])


def _pair(variable: str, urls: Iterable[str]) -> None:
    """Let this process and its children send the key to the servers of those URLs.

    Raises:
        Misuse: a URL names no server.
    """
    pairs = _pairs()
    known = set(pairs.get(variable, ()))
    pairs[variable] = sorted(known | {_server_of(url) for url in urls})
    os.environ[PAIRS_VARIABLE] = json.dumps(pairs)


def _is_paired(variable: str, url: str) -> bool:
    """Return whether the key may be sent to the server of that URL."""
    return _server_of(url) in _pairs().get(variable, ())


def _server_of(url: str) -> str:
    """Return scheme, name and port of a URL, which decide who receives what is sent there.

    Raises:
        Misuse: the URL names no server.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    # A URL in which parsers may find different hosts is refused.
    if not (_PRINTED.fullmatch(url) and _HOST.fullmatch(host)) or parts.scheme not in _PORTS:
        named = "a URL with a login" if "@" in url else repr(url)
        raise Misuse(f"{named}: expected the URL of a server, such as https://llm.example.org")
    written = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{written}:{port or _PORTS[parts.scheme]}"


def _pairs() -> dict[str, list[str]]:
    pairs: dict[str, list[str]] = json.loads(os.environ.get(PAIRS_VARIABLE) or "{}")
    return pairs


def _in_keyring(variable: str) -> str | None:
    # Importing `keyring` looks for the desktop's services.
    import keyring
    from keyring.errors import KeyringError

    try:
        key = keyring.get_password(KEYRING_SERVICE, variable)
    # Backends do not translate errors of the underlying service.
    except (KeyringError, OSError, RuntimeError):
        return None
    return (key or "").strip() or None
