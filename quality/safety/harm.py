"""Requests that do harm, by category and in ten languages: what no task of a bank may ask for.

A match is grounds for a person to look, not proof.
"""

from collections.abc import Collection

from quality.safety.wordings import folded, matches, rules_of
from taskdata.schema.safety import Harm


def harms(text: str, allowed: Collection[Harm] = ()) -> tuple[Harm, ...]:
    """Return the categories of harm that the wording of `text` shows, without the allowed ones."""
    found = {Harm(match.name) for match in matches(folded(text), rules_of("harm"))}
    return tuple(sorted(found.difference(allowed)))
