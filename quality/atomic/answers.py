"""When a text answer is right, by the letter of GTA's published scorer (GTA, appendix D.3).

The check `answer_contains`, which tasks are scored with, is kinder: it also finds an alias that
starts or ends with a symbol. Here numbers must compare with published ones; `names_what_it_must`
is the same rule with its faults mended.
"""

import re
from collections.abc import Sequence

from taskdata.schema.task import ObjectiveAnswer

Groups = Sequence[Sequence[str]]


def is_right(answer: str, reference: ObjectiveAnswer) -> bool:
    """Return whether `answer` has an alias of every whitelist group and none of the blacklist."""
    return is_correct(answer, reference.whitelist, reference.blacklist)


def is_correct(answer: str, whitelist: Groups, blacklist: Groups) -> bool:
    """Return whether `answer` has an alias of every whitelist group and none of the blacklist.

    A group without aliases is found in every text that has a letter or digit.
    """
    if not all(_has_one(answer, group) for group in whitelist):
        return False
    return not blacklist or not _has_one(answer, [alias for group in blacklist for alias in group])


def _has_one(answer: str, aliases: Sequence[str]) -> bool:
    # Next to a symbol a word boundary asks for a letter or digit: `$4` is found in `US$4` alone.
    either = "|".join(map(re.escape, aliases))
    return re.search(rf"\b(?:{either})\b", answer, re.IGNORECASE) is not None


def names_what_it_must(answer: str, whitelist: Groups, blacklist: Groups) -> bool:
    """Return the same with aliases found as a reader finds them.

    An alias that starts or ends with a symbol needs no letter beside it, and a group without
    aliases asks for nothing.
    """
    if not all(_names_one(answer, group) for group in whitelist if group):
        return False
    return not any(_names_one(answer, group) for group in blacklist)


def _names_one(answer: str, aliases: Sequence[str]) -> bool:
    return any(re.search(_whole(alias), answer, re.IGNORECASE) for alias in aliases if alias)


def _whole(alias: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", alias) else ""
    after = r"(?!\w)" if re.match(r"\w", alias[-1]) else ""
    return f"{before}{re.escape(alias)}{after}"
