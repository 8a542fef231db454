"""Opens the search that a configuration names."""

from collections.abc import Callable, Mapping
from pathlib import Path

from environments.models.keys import required_key
from environments.search.cassette import Recorded, require_cassette
from environments.search.corpus import open_corpus, require_corpus
from environments.search.ports import SearchProvider
from environments.search.web import SERPER_KEY, TAVILY_KEY, Serper, Tavily
from taskdata.errors import Misuse
from taskdata.schema.tool_backends import ToolBackends

_WEB: Mapping[str, tuple[str, Callable[[str], SearchProvider]]] = {
    "serper": (SERPER_KEY, Serper),
    "tavily": (TAVILY_KEY, Tavily),
}


def require_search(backends: ToolBackends) -> None:
    """Check that the configured search can be opened; sends no request.

    Raises:
        Misuse: no search is configured, or its key, folder or cassette is missing.
    """
    if backends.search == "none":
        raise Misuse("needs a search: set search to serper, tavily or corpus")
    if backends.search_recording == "replay":
        require_cassette(_path(backends.search_cassette, "search_cassette"))
    elif backends.search == "corpus":
        require_corpus(_path(backends.search_corpus, "search_corpus"))
    elif backends.plays_back:
        raise Misuse(
            f"search {backends.search}: replies = replay asks nobody; set search_recording = "
            "replay and a search_cassette, recorded in an earlier run"
        )
    else:
        required_key(_WEB[backends.search][0])


def open_search(backends: ToolBackends) -> SearchProvider:
    """Return the configured search; raises as `require_search`."""
    require_search(backends)
    if backends.search_recording == "off":
        return _provider(backends)
    cassette = _path(backends.search_cassette, "search_cassette")
    if backends.search_recording == "replay":
        return Recorded(backends.search, cassette, "replay")
    return Recorded(backends.search, cassette, "record", _provider(backends))


def _provider(backends: ToolBackends) -> SearchProvider:
    if backends.search == "corpus":
        return open_corpus(_path(backends.search_corpus, "search_corpus").resolve())
    variable, build = _WEB[backends.search]
    return build(required_key(variable))


def _path(text: str | None, name: str) -> Path:
    if text is None:
        raise Misuse(f"search needs {name}")
    return Path(text)
