"""Raw user requests from which tasks are made."""

from datetime import date

from pydantic import Field

from taskdata.schema.base import RelativePath, Value


class SeedQuery(Value):
    """A raw user request with provenance."""

    text: str = Field(min_length=1, max_length=100_000)
    source: str = Field(min_length=1)
    """Where it was found: manus, kortix, reddit, stackexchange, internal, ..."""
    url: str | None = None
    collected_on: date | None = None
    license: str | None = None
    attachments: tuple[RelativePath, ...] = ()

    @property
    def seed_id(self) -> str:
        """First 16 hex digits of the content hash."""
        return self.digest()[:16]
