"""An estimate of the tokens of a text, for any model: no tokenizer is asked.

It counts more than the tokenizers of current models do for prose, tables and code, and for text
that was made to take many tokens: long runs of letters, digits, symbols, rare characters.
"""

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[ ]+|[^A-Za-z0-9 ]")
_LETTERS_PER_TOKEN = 4
_LONGEST_WORD = 16
"""Longer runs of letters are no words, and take a token for every two letters."""
_SPACES_PER_TOKEN = 8
MOST_BYTES_PER_TOKEN = 5
"""No text has more bytes for each estimated token: four letters and a space."""


def tokens_of(text: str, most: int | None = None) -> int:
    """Return the estimate; counting stops soon after `most`."""
    total = 0
    for found in _PIECE.finditer(text):
        total += _cost(found[0])
        if most is not None and total > most:
            break
    return total


def beginning(text: str, most: int) -> str:
    """Return the longest beginning, in whole words, that takes at most `most` tokens.

    A run of letters or digits that does not fit is cut within.
    """
    left = most
    for found in _PIECE.finditer(text):
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
