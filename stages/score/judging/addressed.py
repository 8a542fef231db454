"""Finds passages of a deliverable that address its grader; a judge is not shown them.

Small models follow such passages regardless of their instructions. The words that are left out are
counted for the reader of the score. Passages are recognised by the rules with which the gates stop
seeds and tasks, and by demands for a verdict (`demands.py`). Both occur only in texts with a word
of `doubtful.py`.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from quality.injection import has_hidden_characters, injection_signs, plain_letters
from stages.score.judging.demands import demands
from stages.score.judging.doubtful import is_doubtful, may_speak

_SIGNS = frozenset(
    {
        "ignore_instructions",
        "claim_of_approval",
        "grader_address",
        "dictated_verdict",
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
    may_speak: bool = False
    """Whether the remaining text has words that are typical of demands on a judge."""


Clear = Callable[[str], Cleared]
"""Removes from a text what a judge shall not be shown."""


def speaks_to_the_judge(text: str) -> bool:
    """Return whether a text shows signs of being written for whoever grades it."""
    plain = plain_letters(text)
    return (may_speak(plain) and _speaks(text, plain)) or has_hidden_characters(text)


def _speaks(text: str, plain: str) -> bool:
    return demands(plain) or bool(_SIGNS.intersection(injection_signs(text)))


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of the text; joined, they are the text again."""
    return [found[0] for found in _SENTENCE.finditer(text) if found[0]]


def cleared(text: str) -> Cleared:
    """Return the text without the sentences and lines that speak to the judge."""
    plain = plain_letters(text)
    has_doubt = may_speak(plain)
    if not (has_doubt and _speaks(text, plain)) and not has_hidden_characters(text):
        return Cleared(text, 0, has_doubt)
    if len(text) > _MOST_CHARACTERS:
        head, tail = cleared(text[:_MOST_CHARACTERS]), text[_MOST_CHARACTERS:]
        return Cleared(head.text, head.words + len(tail.split()), head.may_speak)
    parts = sentences(text)
    left_out = set(_speaking(parts))
    kept = "".join(part for number, part in enumerate(parts) if number not in left_out)
    if speaks_to_the_judge(kept):  # over more lines than are looked at together
        return Cleared("", len(text.split()))
    words = sum(len(parts[number].split()) for number in left_out)
    return Cleared(kept, words, may_speak(plain_letters(kept)))


def without_doubtful(familiar: Set[str]) -> Clear:
    """Return a function that also removes sentences and lines that may address the judge.

    Args:
        familiar: The `stems` of the words that the task itself uses.
    """

    def clear(text: str) -> Cleared:
        known = cleared(text)
        if not known.may_speak:
            return known
        doubtful = [one for one in sentences(known.text) if is_doubtful(one, familiar)]
        if not doubtful:
            return known
        kept = "".join(one for one in sentences(known.text) if not is_doubtful(one, familiar))
        return Cleared(kept, known.words + sum(len(one.split()) for one in doubtful))

    return clear


def _speaking(parts: Sequence[str]) -> Iterator[int]:
    """Yield the places of the sentences that speak to the judge, alone or with their neighbours."""
    found: set[int] = set()
    for size in range(1, _MOST_WINDOW + 1):
        for start in range(len(parts) - size + 1):
            window = range(start, start + size)
            if not found.isdisjoint(window):
                continue
            if speaks_to_the_judge("".join(parts[start : window.stop])):
                found.update(window)
    yield from found
