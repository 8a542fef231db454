"""The language that a text is written in."""

from functools import cache
from typing import Any

UNDETERMINED = "und"
"""ISO 639-2's code for a language that cannot be told."""

_SURE = 0.6
"""Least probability (0-1) of the most likely language."""
_READ = 5_000
_LETTERS = 12
"""Texts with fewer letters say nothing."""


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language of a text, `und` where that cannot be told."""
    beginning = " ".join(text[:_READ].split())
    if sum(character.isalpha() for character in beginning) < _LETTERS and beginning.isascii():
        return UNDETERMINED
    language, probability = _identifier().classify(beginning)
    return str(language) if probability >= _SURE else UNDETERMINED


@cache
def _identifier() -> Any:
    # The model takes a second to load.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
