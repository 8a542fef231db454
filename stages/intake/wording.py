"""The words of a text, ignoring case, punctuation, spacing and compatibility forms."""

import unicodedata
from itertools import pairwise

_UNSPACED = ("CJK ", "HIRAGANA ", "KATAKANA ", "THAI ", "LAO ", "KHMER ", "MYANMAR ")
"""Scripts without spaces between words: there each character counts as a word."""


class _Spacing(dict[int, str]):
    """For `str.translate`: the replacement of a character; filled on demand."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character)[0] in "PZC":
            spaced = " "
        elif unicodedata.name(character, "").startswith(_UNSPACED):
            spaced = f" {character} "
        else:
            spaced = character
        self[code] = spaced
        return spaced


_SPACING = _Spacing()


def words(text: str) -> list[str]:
    """Return the words of `text` in order.

    Caseless compatibility matching (Unicode Standard, section 3.13, D146), then punctuation,
    white space and control characters stand between words. Symbols such as `$` and `+` stay.
    """
    for _pass in range(2):
        text = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", text).translate(_SPACING).split()


def shingles(said: list[str]) -> list[bytes]:
    """Return every word and every pair of neighbouring words.

    Longer runs would miss duplicates: requests are short, and one other word among twenty already
    changes three of the eighteen runs of three; of words and pairs, 86 % stay.
    """
    return [*(word.encode() for word in said), *(f"{a} {b}".encode() for a, b in pairwise(said))]
