"""The protocol of this room: a search that tools use, whoever answers it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SearchHit:
    """One result of a search: cleaned text, cut to a bounded length."""

    title: str
    url: str
    snippet: str


class SearchProvider(Protocol):
    """A search over the web, or over documents."""

    name: str

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return up to `count` results, best first.

        Raises `ToolUnavailable` when the service cannot be reached, refuses, or has no such
        recording.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
