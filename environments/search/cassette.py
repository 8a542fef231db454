"""Recorded searches: an equal search gets the recorded answer, so that runs are comparable."""

import asyncio
import fcntl
import os
import threading
from pathlib import Path
from typing import IO, Literal

from pydantic import ValidationError

from environments.search.ports import SearchHit, SearchProvider
from taskdata.errors import Misuse, ToolUnavailable
from taskdata.schema.base import Value

_MAX_LINE_BYTES = 1_000_000
Key = tuple[str, str, int]


class _Hit(Value):
    title: str
    url: str
    snippet: str


class RecordedSearch(Value):
    """One line of a cassette."""

    provider: str
    query: str
    count: int
    hits: tuple[_Hit, ...]

    @property
    def key(self) -> Key:
        """Identifies a search: provider, query and count."""
        return _key(self.provider, self.query, self.count)


class Recorded:
    """A `SearchProvider` over a cassette; an unrecorded search is sent on or refused.

    Several processes may record into one file: each reads what the others have added.
    """

    def __init__(
        self,
        name: str,
        cassette: Path,
        mode: Literal["record", "replay"],
        provider: SearchProvider | None = None,
    ) -> None:
        """Read the cassette.

        Args:
            name: Name of the provider whose answers are recorded.
            cassette: The JSONL file; `record` makes it if it is missing.
            mode: What happens when a search is not recorded.
            provider: The provider that answers new searches; `replay` needs none.

        Raises:
            Misuse: the file is missing or malformed, or `record` has no provider.
        """
        if mode == "record" and provider is None:
            raise Misuse("search_recording = record needs a search provider to ask")
        self.name = name
        self._path = cassette
        self._provider = provider if mode == "record" else None
        self._known: dict[Key, tuple[SearchHit, ...]] = {}
        self._read_to = 0
        self._lock = threading.Lock()
        if mode == "replay":
            require_cassette(cassette)
        self._catch_up()

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return the recorded answer, or ask the provider and record its answer.

        Raises:
            ToolUnavailable: the search is not recorded, or the provider fails.
        """
        key = _key(self.name, query, count)
        known = await asyncio.to_thread(self._find, key)
        if known is not None:
            return known
        if self._provider is None:
            raise ToolUnavailable(
                f"search: {self._path} has no recording of {query[:200]!r} ({self.name}, {count} "
                "results); record it with search_recording = record"
            )
        hits = await self._provider.search(query, count)
        return await asyncio.to_thread(self._keep, key, hits)

    async def close(self) -> None:
        """Close the provider's connections."""
        if self._provider is not None:
            await self._provider.close()

    def _find(self, key: Key) -> tuple[SearchHit, ...] | None:
        with self._lock:
            if key not in self._known:
                self._catch_up()
            return self._known.get(key)

    def _keep(self, key: Key, hits: tuple[SearchHit, ...]) -> tuple[SearchHit, ...]:
        """Record an answer; return the valid one, which another process may have recorded first."""
        provider, query, count = key
        kept = tuple(_Hit(title=h.title, url=h.url, snippet=h.snippet) for h in hits)
        line = RecordedSearch(provider=provider, query=query, count=count, hits=kept)
        data = line.model_dump_json().encode() + b"\n"
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab+") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    _drop_torn_line(file)
                    file.write(data)
            except OSError as exc:
                raise ToolUnavailable(
                    f"search: cannot record into {self._path}: {exc.strerror}"
                ) from exc
            self._catch_up()
            return self._known[key]

    def _catch_up(self) -> None:
        """Read the lines added since the last look; the first line of a search is the valid one."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            # Readers share the lock and may lack the right to write; `filelock` supports neither.
            fcntl.flock(file, fcntl.LOCK_SH)
            file.seek(self._read_to)
            while line := file.readline(_MAX_LINE_BYTES):
                # The writer of this line was killed, so the search was never answered.
                if not line.endswith(b"\n") and not file.peek(1):
                    break
                self._take(line)
                self._read_to = file.tell()

    def _take(self, line: bytes) -> None:
        try:
            recorded = RecordedSearch.model_validate_json(line)
        except ValidationError as exc:
            first = exc.errors(include_input=False, include_url=False)[0]
            raise Misuse(
                f"{self._path}: a line is no recorded search: {first['msg']}; mend or remove it"
            ) from exc
        hits = tuple(SearchHit(hit.title, hit.url, hit.snippet) for hit in recorded.hits)
        self._known.setdefault(recorded.key, hits)


def require_cassette(path: Path) -> None:
    """Raise `Misuse` unless there is a cassette to replay."""
    if not path.is_file():
        raise Misuse(
            f"search_cassette {path}: there is no such file; record one with "
            "search_recording = record"
        )


def _drop_torn_line(file: IO[bytes]) -> None:
    """Remove an incomplete line that a killed writer left."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - _MAX_LINE_BYTES)
    file.seek(start)
    tail = file.read()
    if tail and not tail.endswith(b"\n"):
        file.truncate(start + tail.rfind(b"\n") + 1)


def _key(provider: str, query: str, count: int) -> Key:
    return provider, " ".join(query.split()), count
