"""Passages of a deliverable that speak to whoever grades it; a judge is not shown them.

Small models follow them, whatever their instructions say. What is left out is counted, so that a
reader of the score knows. The signs are those by which seeds and tasks are stopped at the gates,
and demands of a verdict (`demands.py`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quality.injection import injection_signs, plain_letters
from stages.score.judging.demands import demands

_SIGNS = frozenset(
    {
        "ignore_instructions",
        "claim_of_approval",
        "grader_address",
        "dictated_verdict",
        "hidden_characters",
    }
)
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*(?:[.!?]+|\n|$)\s*")
_MOST_WINDOW = 3
"""A passage may be broken over so many lines or sentences."""
_MOST_CHARACTERS = 200_000
"""Of a text in which passages are looked for one by one; the rest goes as a whole."""


class Cleared(NamedTuple):
    """A text without what speaks to the judge."""

    text: str
    words: int
    """How many words were left out."""


def speaks_to_the_judge(text: str) -> bool:
    """Return whether a text shows signs of being written for whoever grades it."""
    return demands(plain_letters(text)) or bool(_SIGNS.intersection(injection_signs(text)))


def cleared(text: str) -> Cleared:
    """Return the text without the sentences and lines that speak to the judge."""
    if not speaks_to_the_judge(text):
        return Cleared(text, 0)
    if len(text) > _MOST_CHARACTERS:
        head, tail = cleared(text[:_MOST_CHARACTERS]), text[_MOST_CHARACTERS:]
        return Cleared(head.text, head.words + len(tail.split()))
    sentences = [found[0] for found in _SENTENCE.finditer(text) if found[0]]
    left_out = set(_speaking(sentences))
    kept = "".join(s for number, s in enumerate(sentences) if number not in left_out)
    if speaks_to_the_judge(kept):  # over more lines than are looked at together
        return Cleared("", len(text.split()))
    return Cleared(kept, sum(len(sentences[number].split()) for number in left_out))


def _speaking(sentences: Sequence[str]) -> Iterator[int]:
    """Yield the places of the sentences that speak to the judge, alone or with their neighbours."""
    found: set[int] = set()
    for size in range(1, _MOST_WINDOW + 1):
        for start in range(len(sentences) - size + 1):
            window = range(start, start + size)
            if not found.isdisjoint(window):
                continue
            if speaks_to_the_judge("".join(sentences[start : window.stop])):
                found.update(window)
    yield from found
