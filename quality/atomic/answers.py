"""When a text answer is right, by the letter of GTA's published scorer (GTA, appendix D.3).

The check `answer_contains`, which tasks are scored with, is kinder: it also finds an alias that
starts or ends with a symbol. Here numbers must compare with published ones.
"""

import re
from collections.abc import Sequence

from taskdata.schema.task import ObjectiveAnswer


def is_right(answer: str, reference: ObjectiveAnswer) -> bool:
    """Return whether `answer` has an alias of every whitelist group and none of the blacklist."""
    named = all(_has_one(answer, group) for group in reference.whitelist)
    return named and not any(_has_one(answer, group) for group in reference.blacklist)


def _has_one(answer: str, aliases: Sequence[str]) -> bool:
    # Next to a symbol a word boundary asks for a letter or digit: `$4` is found in `US$4` alone.
    either = "|".join(map(re.escape, aliases))
    return re.search(rf"\b(?:{either})\b", answer, re.IGNORECASE) is not None
