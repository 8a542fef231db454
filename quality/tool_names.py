"""Which tools a text gives away."""

import re
from collections.abc import Iterable
from functools import lru_cache


def tools_named(text: str, tools: Iterable[str]) -> set[str]:
    """Return the tools that `text` gives away; a real user names none.

    A name that is no ordinary word (`ReadCSV`, `python_execute`) counts wherever it stands. One
    that is (`Plot`, `finish`) counts only in backticks or before the word tool.
    """
    text = text.lower()
    return {
        tool
        for tool, name, pattern in _giveaways(frozenset(tools))
        # A plain search first: it is many times faster, and most texts name no tool.
        if name in text and pattern.search(text)
    }


@lru_cache(maxsize=256)
def _giveaways(tools: frozenset[str]) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return each tool, its lower-case name, and what gives it away in a lower-case text."""
    found = []
    for tool in tools:
        name = tool.lower()
        word = re.escape(name)
        ordinary = re.fullmatch(r"[A-Za-z]?[a-z]+", tool)
        pattern = rf"`{word}`|\b{word} tool\b" if ordinary else rf"\b{word}\b"
        found.append((tool, name, re.compile(pattern)))
    return tuple(found)
