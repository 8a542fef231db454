"""Where a model is reached, and the key that is sent there."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, urlsplit

from taskdata.schema.agent import ModelSpec

_LEAST_KEY_CHARS = 9
"""A shorter key, such as the word that stands for no key, may well be part of an answer."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is, and the key to it."""

    spec: ModelSpec
    base_url: str = field(repr=False)
    """May hold a login."""
    key: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.spec} at {self.host}"

    @cached_property
    def host(self) -> str:
        """Name and, where it is given, port of the server."""
        url = urlsplit(self.base_url)
        return f"{url.hostname}:{url.port}" if url.port else f"{url.hostname}"

    def without_key(self, content: bytes) -> bytes:
        """Return what the server sent with `[key]` wherever it repeats the key."""
        for form in self._key_forms:
            content = content.replace(form, b"[key]")
        return content

    @cached_property
    def _key_forms(self) -> tuple[bytes, ...]:
        """The key as it is, as JSON writes it and as a URL writes it."""
        if len(self.key) < _LEAST_KEY_CHARS:
            return ()
        in_json = json.dumps(self.key)[1:-1]
        forms = {self.key, in_json, in_json.replace("/", "\\/")}
        forms |= {quote(self.key), quote(self.key, safe="")}
        return tuple(form.encode() for form in forms)
