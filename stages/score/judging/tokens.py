"""An estimate of the tokens of a text, for any model: no tokenizer is asked.

It counts more than the tokenizers of current models do for prose, tables and code, and for text
that was made to take many tokens: long runs of letters, digits, symbols, rare characters.
"""

import re
from collections import Counter

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[ ]+|[^A-Za-z0-9 ]")
_LETTERS = re.compile(r"[A-Za-z]+")
_SPACES = re.compile(r"  +")
_LETTERS_PER_TOKEN = 4
_LONGEST_WORD = 16
"""Longer runs of letters are no words, and take a token for every two letters."""
_SPACES_PER_TOKEN = 8
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
    runs = Counter(map(len, _LETTERS.findall(text)))
    letters = sum(length * count for length, count in runs.items())
    # Every character that is neither a letter nor a space counts as one token.
    total = len(text) - letters - text.count(" ")
    total += sum(_of_letters(length) * count for length, count in runs.items())
    total += sum(_of_spaces(run.end() - run.start()) for run in _SPACES.finditer(text))
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
        return 0 if length == 1 else _of_spaces(length)
    if "0" <= first <= "9":
        return length
    if not first.isascii():
        return max(1, len(first.encode("utf-8", "replace")) - 1)
    return _of_letters(length) if first.isalpha() else 1


def _of_letters(length: int) -> int:
    return -(-length // (_LETTERS_PER_TOKEN if length <= _LONGEST_WORD else 2))


def _of_spaces(length: int) -> int:
    """Return the tokens of two spaces or more."""
    return 1 + length // _SPACES_PER_TOKEN
