"""Where a model is reached, and the key that is sent there."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, urlsplit

from taskdata.schema.agent import ModelSpec

_LEAST_KEY_CHARS = 9
"""A shorter key, such as the placeholder for no key, may occur in an answer by chance."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is, and the key to it."""

    spec: ModelSpec
    base_url: str = field(repr=False)
    """May contain a login."""
    key: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.spec} at {self.host}"

    @cached_property
    def host(self) -> str:
        """Name of the server, with its port if the URL has one."""
        url = urlsplit(self.base_url)
        return f"{url.hostname}:{url.port}" if url.port else f"{url.hostname}"

    def without_key(self, content: bytes) -> bytes:
        """Return the server's answer with `[key]` in place of the key."""
        for form in self._key_forms:
            content = content.replace(form, b"[key]")
        return content

    @cached_property
    def _key_forms(self) -> tuple[bytes, ...]:
        """The key as it is, as JSON encodes it and as a URL encodes it."""
        if len(self.key) < _LEAST_KEY_CHARS:
            return ()
        in_json = json.dumps(self.key)[1:-1]
        forms = {self.key, in_json, in_json.replace("/", "\\/")}
        forms |= {quote(self.key), quote(self.key, safe="")}
        return tuple(form.encode() for form in forms)
