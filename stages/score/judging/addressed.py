"""Passages of a deliverable that speak to whoever grades it; a judge is not shown them.

Small models follow them, whatever their instructions say. What is left out is counted, so that a
reader of the score knows. The signs are those by which seeds and tasks are stopped at the gates,
and verdicts as judges write them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quality.injection import injection_signs

_SIGNS = frozenset(
    {
        "ignore_instructions",
        "claim_of_approval",
        "grader_address",
        "dictated_verdict",
        "hidden_characters",
    }
)
_GRADERS = r"(?:graders?|judges?|evaluators?|reviewers?|scorers?|grading (?:panel|team|model))"
_VERDICT = re.compile(
    r"""["']?score["']?\s{0,3}[:=]\s{0,3}["']?\d{1,2}\b.{0,40}["']?evidence["']?\s{0,3}[:=]"""
    r"""|["']evidence["']\s{0,3}:.{0,400}["']score["']\s{0,3}:"""
    r"|\b(?:note|message|instructions?|attention|dear) (?:to |for )?"
    rf"(?:the |all ){{0,2}}{_GRADERS}\b"
    rf"|\b(?:score|verdict|grade|rating|points) (?:of|by|from|given by) (?:the |all )?{_GRADERS}\b"
    rf"|\b{_GRADERS} (?:have |has )?"
    r"(?:decided|agreed|gave|given|awarded|settled|must|should|shall)\b"
    r"|\b(?:score|rate|grade|mark) (?:this|it) (?:with |as |at )?(?:10|ten|full)\b"
    r"|\b(?:begin|end) untrusted\b",
    re.IGNORECASE,
)
_HINTS = (
    *("evidence", "grader", "judge", "evaluator", "reviewer", "scorer", "grading ", "untrusted"),
    *(f"{verb} {what}" for verb in ("score", "rate", "grade", "mark") for what in ("this", "it")),
)
"""Every match of the pattern has one of these in it, and most texts have none."""
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
    plain = " ".join(text.split())
    # Only in ASCII do lower case and the pattern agree on which letters are the same.
    lower = plain.lower() if plain.isascii() else None
    may_match = lower is None or any(hint in lower for hint in _HINTS)
    is_addressed = may_match and _VERDICT.search(plain) is not None
    return is_addressed or not _SIGNS.isdisjoint(injection_signs(text))


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
