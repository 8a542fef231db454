"""The text block that shows a judge what an agent left, protected against forged structure.

Every line of our own begins with a mark, a hash of all the content. No text can contain its own
hash, so no text in the block can imitate the beginning or end of a file, a table or a page. Names
that the agent chose are quoted and escaped in our lines.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

MARK_LENGTH = 16
_HEADING_EXTRA = MARK_LENGTH + 2
"""Characters of a heading's line besides the heading."""


class Part(NamedTuple):
    """A piece of a file."""

    heading: str
    """Our text, on a line of its own; empty: no such line."""
    text: str = ""
    """The agent's text."""

    @property
    def length(self) -> int:
        """Its number of characters in the block."""
        return len(self.text) + (len(self.heading) + _HEADING_EXTRA if self.heading else 0)


class Frame(NamedTuple):
    """A file, or the final answer."""

    name: str
    """Our text; a file's name in it is quoted."""
    parts: Sequence[Part]


class Block(NamedTuple):
    """The content between the judge's two marks."""

    mark: str
    text: str


def quoted(name: str) -> str:
    """Return text that an agent may have chosen on one line, in quotes that it cannot close."""
    line = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def framed(frames: Iterable[Frame], most_each: int) -> Block:
    """Return the frames as one block, with at most `most_each` characters of each."""
    shown = [Frame(frame.name, list(_within(frame.parts, most_each))) for frame in frames]
    mark = _mark(shown)
    return Block(mark, "\n".join(line for frame in shown for line in _lines(frame, mark)))


def _mark(frames: Sequence[Frame]) -> str:
    written = json.dumps(frames)
    hashes = (hashlib.sha256(f"{n}\n{written}".encode()).hexdigest() for n in count())
    marks = (digest[:MARK_LENGTH] for digest in hashes)
    # Enough computing could still write a hash's first digits into the text: then the next is used.
    return next(mark for mark in marks if mark not in written)


def _lines(frame: Frame, mark: str) -> Iterator[str]:
    yield f"{mark} {frame.name}"
    for part in frame.parts:
        if part.heading:
            yield f"{mark} {part.heading}"
        if part.text:
            yield part.text
    yield f"{mark} end"


def _within(parts: Sequence[Part], most: int) -> Iterator[Part]:
    left = most
    for number, part in enumerate(parts):
        if part.length <= left:
            left -= part.length
            yield part
            continue
        room = max(0, left - (part.length - len(part.text)))
        if room:
            yield Part(part.heading, part.text[:room])
        hidden = sum(len(p.text) for p in parts[number:]) - room
        yield Part(f"{hidden} more characters are not shown")
        return
