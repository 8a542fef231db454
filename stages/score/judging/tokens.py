"""An estimate of the tokens of a text, for any model: no tokenizer is asked.

It counts more than the tokenizers of current models do for prose, tables and code, and for text
that was made to take many tokens: long runs of letters, digits, symbols, rare characters.
"""

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[ ]+|[^A-Za-z0-9 ]")
_TOKEN = re.compile(r"[A-Za-z]{1,4}|[^A-Za-z ]|  +")
_LONG_RUN = re.compile(r"[A-Za-z]{17,}| {8,}")
_LETTERS_PER_TOKEN = 4
_LONGEST_WORD = 16
"""Longer runs of letters are no words, and take a token for every two letters."""
_SPACES_PER_TOKEN = 8
_SPACES = " " * _SPACES_PER_TOKEN
_STRIDE = 4_000
"""Characters that are counted at once, while it is sure that they fit."""
_MOST_CHARACTERS_PER_TOKEN = 9
"""Of spaces; of all else there are fewer."""
MOST_BYTES_PER_TOKEN = 5
"""No text but of spaces has more bytes for each estimated token: four letters and a space."""


def tokens_of(text: str, most: int | None = None) -> int:
    """Return the estimate; where there are more than `most`, some number above it."""
    if most is not None:
        text = text[: _MOST_CHARACTERS_PER_TOKEN * (most + 2)]
    total = len(_TOKEN.findall(text))
    has_long_runs = _SPACES in text or max(map(len, text.split()), default=0) > _LONGEST_WORD
    for run in _LONG_RUN.finditer(text) if has_long_runs else ():
        length = run.end() - run.start()
        if run[0][0] == " ":
            total += length // _SPACES_PER_TOKEN
        else:
            total += -(-length // 2) - -(-length // _LETTERS_PER_TOKEN)
    if not text.isascii():
        rare = len(text) - len(text.encode("ascii", "ignore"))
        total += max(0, len(text.encode("utf-8", "replace")) - len(text) - rare)
    return total


def beginning(text: str, most: int) -> str:
    """Return a beginning, in whole words, that takes at most `most` tokens, and almost as many.

    A run of letters or digits that does not fit is cut within.
    """
    start, left = 0, most
    while start < len(text) and (cost := tokens_of(text[start : start + _STRIDE])) <= left:
        start, left = start + _STRIDE, left - cost
    for found in _PIECE.finditer(text, start, start + _STRIDE):
        cost = _cost(found[0])
        if cost > left:
            is_run = found.end() - found.start() > _LONGEST_WORD
            return text[: found.start() + (left if is_run else 0)]
        left -= cost
    return text


def _cost(piece: str) -> int:
    first, length = piece[0], len(piece)
    if first == " ":
        return 0 if length == 1 else 1 + length // _SPACES_PER_TOKEN
    if "0" <= first <= "9":
        return length
    if not first.isascii():
        return max(1, len(first.encode("utf-8", "replace")) - 1)
    if not first.isalpha():
        return 1
    return -(-length // (_LETTERS_PER_TOKEN if length <= _LONGEST_WORD else 2))
