"""The web search providers: Serper, a front end of Google, and Tavily."""

from typing import Any

from pydantic import Field

from environments.models.retry import RetryPolicy
from environments.models.wire.reading import Wire
from environments.search.cleaning import clean_hit
from environments.search.http import SearchService
from environments.search.ports import SearchHit

SERPER_KEY = "SERPER_API_KEY"
TAVILY_KEY = "TAVILY_API_KEY"

_SERPER_URL = "https://google.serper.dev/search"
_TAVILY_URL = "https://api.tavily.com/search"
_TAVILY_MOST = 20


class _SerperAnswer(Wire):
    answer_box: dict[str, Any] | None = Field(default=None, alias="answerBox")
    organic: list[dict[str, Any]] = Field(default_factory=list)


class _TavilyAnswer(Wire):
    results: list[dict[str, Any]]


class Serper(SearchService):
    """A `SearchProvider` over serper.dev."""

    name = "serper"

    def __init__(self, key: str, url: str = _SERPER_URL, policy: RetryPolicy | None = None) -> None:
        super().__init__(url, key, policy)

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return up to `count` results; a direct answer of the search engine comes first."""
        body = {"q": query, "num": count}
        found = await self.post(self.name, {"X-API-KEY": self._key}, body, _SerperAnswer)
        box = found.answer_box or {}
        direct = clean_hit(
            box.get("title"), box.get("link"), box.get("answer") or box.get("snippet")
        )
        organic = (
            clean_hit(r.get("title"), r.get("link"), r.get("snippet")) for r in found.organic
        )
        return tuple(hit for hit in (direct, *organic) if hit is not None)[:count]


class Tavily(SearchService):
    """A `SearchProvider` over tavily.com."""

    name = "tavily"

    def __init__(self, key: str, url: str = _TAVILY_URL, policy: RetryPolicy | None = None) -> None:
        super().__init__(url, key, policy)

    async def search(self, query: str, count: int) -> tuple[SearchHit, ...]:
        """Return up to `count` results, at most 20."""
        body = {"query": query, "max_results": min(count, _TAVILY_MOST)}
        headers = {"Authorization": f"Bearer {self._key}"}
        found = await self.post(self.name, headers, body, _TavilyAnswer)
        hits = (clean_hit(r.get("title"), r.get("url"), r.get("content")) for r in found.results)
        return tuple(hit for hit in hits if hit is not None)[:count]
