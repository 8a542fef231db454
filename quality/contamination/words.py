"""Words of a text, without what files change about it: case, punctuation, line breaks, escapes."""

import re
import unicodedata

# Chinese and Japanese are written without spaces: each character counts as a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrtbf\"/])")


def words_of(text: str) -> list[str]:
    """Return the words in lower case; escapes of JSON, even doubled ones, are undone."""
    if "\\" in text:
        text = _ESCAPE.sub(_undone, text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text.casefold())


def _undone(escape: re.Match[str]) -> str:
    code = escape.group(1)
    return " " if code is None else chr(int(code, 16))
