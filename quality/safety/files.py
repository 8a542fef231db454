"""Orders to the model and requests for harm in the text of a file, by rules of wording.

A file is not compared by meaning: it has many sentences of which hardly one is a request, and each
would be another chance to stop an honest file.
"""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath
from typing import Literal

from quality.injection import injection_signs
from quality.safety.harm import harms
from quality.safety.personal import LONGEST, masked
from taskdata.schema.base import Value
from taskdata.schema.safety import Harm

FileRule = Literal["injection", "harm"]

_WRAPPED = frozenset({".eml", ".htm", ".html", ".md", ".pdf", ".txt"})
"""Endings of files whose sentences may go on in the next line; elsewhere a line is a whole one."""
_PATH_CHARACTERS = 160
_QUOTED = 60
_READ_OF_LINE = 2_000


class FileFinding(Value):
    """A rule that the text of a file breaks."""

    rule: FileRule
    path: str
    says: str
    """Beginning of the line, paragraph or cell in which the finding ends, without personal data."""
    name: str
    """The sign of injection, or the category of harm."""

    @property
    def told(self) -> str:
        """File, place and name: `brief.docx, at 'Ignore all previous': ignore_instructions`."""
        return f"{self.path[-_PATH_CHARACTERS:]}, at {self.says!r}: {self.name}"


def name_told(told: str) -> str:
    """Return the sign or category that a finding names, from what it tells."""
    return told.rsplit(": ", 1)[-1]


def found_in(path: str, text: str, allowed: Collection[Harm] = ()) -> tuple[FileFinding, ...]:
    """Return what the text of a file breaks, and where; of a long one its beginning is read.

    Args:
        path: Name of the file.
        text: Its text, as a parser gives it.
        allowed: Categories of harm that are let through.
    """
    lines = _lines(path, text[:LONGEST])
    return tuple(
        FileFinding(rule=rule, path=path, says=_place(lines, name, find), name=name)
        for rule, find in _finders(allowed)
        for name in find("".join(lines))
    )


def _finders(
    allowed: Collection[Harm],
) -> Iterator[tuple[FileRule, Callable[[str], Collection[str]]]]:
    yield "injection", injection_signs
    yield "harm", lambda text: [kind.value for kind in harms(text, allowed)]


def _lines(path: str, text: str) -> list[str]:
    r"""Return the lines of a text; \0 stands where a sentence cannot go on."""
    wrapped = PurePosixPath(path).suffix.lower() in _WRAPPED
    lines = re.split(r"\r\n|\n|\r", text.replace("\0", " "))
    return [line + ("\n" if wrapped and line.strip() else "\n\0") for line in lines]


def _place(lines: list[str], name: str, find: Callable[[str], Collection[str]]) -> str:
    """Return the line with which a text that is read from its beginning breaks the rule."""
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        if name in find("".join(lines[:middle])):
            high = middle
        else:
            low = middle + 1
    line = " ".join(lines[low - 1].replace("\0", " ").split())
    return masked(line[:_READ_OF_LINE])[:_QUOTED]
