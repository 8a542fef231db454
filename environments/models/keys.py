"""API keys: from the environment, else from the keyring of the machine, and from nowhere else.

A key is sent to the servers that it is paired with, and to no other. A run's configuration pairs
nothing, for it may come from anybody who can start a run: who could name the server there would
get the key. `nightshift.toml` does, and what it pairs is handed down to other processes, also on
other machines, in the environment variable `PAIRS_VARIABLE`.
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
"""Servers by the name of the key that they may get, as JSON."""

_PORTS = {"http": 80, "https": 443}
_PRINTED = re.compile(r"[!-\[\]-~]+")  # ASCII without spaces and backslash
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")

NO_KEY = "none"
"""Stands for no key; servers that want none take any."""

KEYRING_SERVICE = "nightshift"
"""Name under which keys lie in the keyring, each as the user of its environment variable."""


def find_key(variable: str) -> str | None:
    """Return the key, or None; a keyring that is missing or locked simply holds none."""
    key = os.environ.get(variable, "").strip()
    return key or _in_keyring(variable)


def required_key(variable: str) -> str:
    """Return the key; raises `Misuse`, which names both ways to give it, if there is none."""
    key = find_key(variable)
    if key is None:
        raise Misuse(
            f"set the environment variable {variable}, or store the key with "
            f"`keyring set {KEYRING_SERVICE} {variable}`"
        )
    return key


def key_for(spec: ModelSpec, provider: ModelProvider, url: str) -> str:
    """Return the key for the server at that URL, or what stands for none.

    Raises:
        Misuse: if there is none where one is needed, or if that server must not get it.
    """
    variable = provider.key_variable
    if variable is None:
        return NO_KEY
    try:
        key = required_key(variable) if provider.key_required else find_key(variable)
    except Misuse as exc:
        raise Misuse(f"model {spec}: {exc}") from None
    # Where there is no key, the machine's own credentials may take its place.
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
    """Whether a server is the provider's, or the one that the environment names beside the key."""
    beside = os.environ.get(provider.base_url_variable or "")
    if beside and server == _server_of(beside):
        return True
    own_url = provider.own_url()
    if own_url is None:
        return False
    own = _server_of(own_url).removeprefix("https://")
    # Providers have servers of regions, such as eu.api.openai.com.
    return server == f"https://{own}" or (
        server.startswith("https://") and server.endswith(f".{own}")
    )


def pair_keys(servers: Mapping[str, Iterable[str]]) -> None:
    """Have keys sent to servers beside their provider's own, which are given by provider.

    Raises:
        Misuse: if a provider is unknown or has no key, or what is given is no URL of a server.
    """
    for name, urls in servers.items():
        variable = PROVIDERS.get(name, ModelProvider()).key_variable
        if variable is None:
            known = ", ".join(name for name, provider in PROVIDERS.items() if provider.key_variable)
            raise Misuse(f"key_hosts.{name}: no provider with a key; there are {known}")
        _pair(variable, urls)


def pair_endpoints(endpoints: Iterable[tuple[ModelSpec, str | None]]) -> None:
    """Have the keys of those models' providers sent to their base URLs."""
    for spec, url in endpoints:
        variable = PROVIDERS.get(spec.provider, ModelProvider()).key_variable
        if variable and url:
            # One that cannot be asked is for whoever asks it to hear of.
            with suppress(Misuse):
                _pair(variable, [url])


def _pair(variable: str, urls: Iterable[str]) -> None:
    """Have this process, and those that it starts, send the key to the servers of those URLs.

    Raises:
        Misuse: if one of them is no URL of a server.
    """
    pairs = _pairs()
    known = set(pairs.get(variable, ()))
    pairs[variable] = sorted(known | {_server_of(url) for url in urls})
    os.environ[PAIRS_VARIABLE] = json.dumps(pairs)


def _is_paired(variable: str, url: str) -> bool:
    """Return whether the key may be sent to the server of that URL."""
    return _server_of(url) in _pairs().get(variable, ())


def _server_of(url: str) -> str:
    """Return scheme, name and port of a URL: the part that says who gets what is sent there.

    Raises:
        Misuse: if it is no URL of a server.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    # What readers of URLs may take for different hosts is taken for none.
    if not (_PRINTED.fullmatch(url) and _HOST.fullmatch(host)) or parts.scheme not in _PORTS:
        named = "a URL with a login" if "@" in url else repr(url)
        raise Misuse(f"{named}: expected the URL of a server, such as https://llm.example.org")
    written = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{written}:{port or _PORTS[parts.scheme]}"


def _pairs() -> dict[str, list[str]]:
    pairs: dict[str, list[str]] = json.loads(os.environ.get(PAIRS_VARIABLE) or "{}")
    return pairs


def _in_keyring(variable: str) -> str | None:
    # Looks for the desktop's services when it is loaded.
    import keyring
    from keyring.errors import KeyringError

    try:
        key = keyring.get_password(KEYRING_SERVICE, variable)
    # Backends let the errors of the service behind them through.
    except (KeyringError, OSError, RuntimeError):
        return None
    return (key or "").strip() or None
