"""Finds the tool that a misspelt name means."""

import difflib
from collections.abc import Iterable

_LONGEST_NAME = 100
_LEAST_LIKENESS = 0.85
"""Ratio of difflib, 0 to 1, ignoring case and punctuation: `read_files` is like `read_file`."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the one tool that `name` is a misspelling of, such as ReadCSV for readCSV.

    None if no tool is similar, or if two are equally similar.
    """
    if len(name) > _LONGEST_NAME:
        return None
    tools = list(known)
    written = _letters(name.removeprefix("functions."))
    same = [tool for tool in tools if _letters(tool) == written]
    if same or not written:
        return same[0] if len(same) == 1 else None
    by_letters = {_letters(tool): tool for tool in tools}
    close = difflib.get_close_matches(written, by_letters, n=2, cutoff=_LEAST_LIKENESS)
    likeness = [difflib.SequenceMatcher(None, written, found).ratio() for found in close]
    if not close or (len(close) == 2 and likeness[0] == likeness[1]):
        return None
    return by_letters[close[0]]


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
