"""The block that shows a judge what an agent left, protected against forged structure.

Every line of our own begins with a mark, a hash of all the content. No text can contain its own
hash, so no text in the block can imitate the beginning or end of a file, a table or a page. Names
that the agent chose are quoted and escaped in our lines.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from environments.ports import Media
from stages.score.judging.tokens import beginning, tokens_of

MARK_LENGTH = 16
_HEADING_TOKENS = MARK_LENGTH + 2
"""Of a heading's line besides the heading."""
_PATCH_PIXELS = 28
"""A picture has about a token for each square of this side."""
_SOUND_BYTES_PER_TOKEN = 1_000
"""Of a recording with 32,000 bytes a second, of which models make up to 32 tokens."""


class Part(NamedTuple):
    """A piece of a file."""

    heading: str
    """Our text, on a line of its own; empty: no such line."""
    text: str = ""
    """The agent's text."""
    media: Media | None = None
    """A picture or a recording of what the agent made."""

    def tokens(self, most: int | None = None) -> int:
        """Return what it takes in the block, by our estimate; counting stops after `most`."""
        said = tokens_of(self.text, most) + (1 if self.text else 0)
        headed = _HEADING_TOKENS + tokens_of(self.heading) if self.heading else 0
        return said + headed + (0 if self.media is None else media_tokens(self.media))


class Frame(NamedTuple):
    """The task, a file, or the final answer."""

    name: str
    """Our text; a file's name in it is quoted."""
    parts: Sequence[Part]


class Block(NamedTuple):
    """The content between the judge's two marks."""

    mark: str
    pieces: tuple[str | Media, ...]
    """Texts and media in order."""
    cut: tuple[str, ...] = ()
    """Names of the frames of which not everything is shown."""

    @property
    def text(self) -> str:
        """The texts alone."""
        return "".join(piece for piece in self.pieces if isinstance(piece, str))


def media_tokens(media: Media) -> int:
    """Return about how many tokens a PNG picture or a WAV recording of ours takes."""
    if media.media_type != "image/png":
        return -(-len(media.data) // _SOUND_BYTES_PER_TOKEN)
    width, height = struct.unpack(">II", media.data[16:24])
    across, down = (-(-side // _PATCH_PIXELS) for side in (width, height))
    return int(across * down)


def quoted(name: str) -> str:
    """Return text that an agent may have chosen on one line, in quotes that it cannot close."""
    line = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def framed(frames: Iterable[Frame], most: int) -> Block:
    """Return the frames as one block of at most about `most` tokens, each cut to a fair share."""
    whole = list(frames)
    costs = [[part.tokens(most) for part in frame.parts] for frame in whole]
    needs = [_own_tokens(frame) + sum(cost) for frame, cost in zip(whole, costs, strict=True)]
    shown, cut = [], []
    for frame, cost, need, room in zip(whole, costs, needs, _shares(needs, most), strict=True):
        if need <= room:
            shown.append(frame)
        else:
            left = max(0, room - _own_tokens(frame))
            shown.append(Frame(frame.name, list(_within(frame.parts, cost, left))))
            cut.append(frame.name)
    mark = _mark(shown)
    return Block(mark, _pieces(shown, mark), tuple(cut))


def _own_tokens(frame: Frame) -> int:
    """Return what a frame takes beside its parts."""
    return 2 * _HEADING_TOKENS + tokens_of(frame.name)


def _shares(needs: Sequence[int], most: int) -> list[int]:
    """Return the room of each: what it needs, or an equal part of what the smaller ones leave."""
    rooms, left = [0] * len(needs), most
    for place, number in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        rooms[number] = min(needs[number], left // (len(needs) - place))
        left -= rooms[number]
    return rooms


def _mark(frames: Sequence[Frame]) -> str:
    written = json.dumps(
        [[f.name, [[p.heading, p.text, _digest(p.media)] for p in f.parts]] for f in frames]
    )
    hashes = (hashlib.sha256(f"{n}\n{written}".encode()).hexdigest() for n in count())
    marks = (digest[:MARK_LENGTH] for digest in hashes)
    # Enough computing could still write a hash's first digits into the text: then the next is used.
    return next(mark for mark in marks if mark not in written)


def _digest(media: Media | None) -> str:
    return "" if media is None else hashlib.sha256(media.data).hexdigest()


def _pieces(frames: Sequence[Frame], mark: str) -> tuple[str | Media, ...]:
    pieces: list[str | Media] = []
    lines: list[str] = []
    for frame in frames:
        lines.append(f"{mark} {frame.name}")
        for part in frame.parts:
            lines += [f"{mark} {part.heading}"] if part.heading else []
            lines += [part.text] if part.text else []
            if part.media is not None:
                pieces += ["\n".join([*lines, ""]), part.media]
                lines = []
        lines.append(f"{mark} end")
    return (*pieces, "\n".join(lines))


def _within(parts: Sequence[Part], costs: Sequence[int], most: int) -> Iterator[Part]:
    """Yield what fits: of pictures and recordings at most half, where there is text for the rest.

    What is left out is counted, in a line of ours.
    """
    wanted = {True: 0, False: 0}
    for part, cost in zip(parts, costs, strict=True):
        wanted[part.media is not None] += cost
    for_media = min(wanted[True], max(most // 2, most - wanted[False]))
    room = {True: for_media, False: most - for_media}
    characters = items = 0
    for part, cost in zip(parts, costs, strict=True):
        is_media = part.media is not None
        if cost <= room[is_media]:
            room[is_media] -= cost
            yield part
            continue
        kept = "" if is_media else beginning(part.text, room[False] - Part(part.heading).tokens())
        if kept:
            yield Part(part.heading, kept)
        room[is_media] = 0
        characters += len(part.text) - len(kept)
        items += is_media
    if characters:
        yield Part(f"{characters} more characters are not shown")
    if items:
        yield Part(f"{items} more pictures or recordings are not shown")
