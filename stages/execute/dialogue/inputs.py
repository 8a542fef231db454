"""The input files that are shown to a model directly: pictures, recordings and PDFs."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from environments.models.capabilities import native_inputs
from environments.ports import Media, MediaType, Message
from environments.toolkit.media_types import media_type_of
from stages.execute.assignment import Assignment
from taskdata.schema.agent import InputKind
from taskdata.schema.transcript import ShownFile

INPUT = "input/"
"""Before the path of a file in the name by which a model is told of it."""
MAX_FILES = 10
MAX_TOGETHER_BYTES = 12_000_000
"""Limited because files are sent again with every turn, and held in memory by every trial."""

# Below the lowest limit of any provider: 5 MB of base64 per picture.
_MAX_BYTES: dict[InputKind, int] = {"image": 3_600_000, "audio": 10_000_000, "pdf": 10_000_000}
_KINDS: dict[str, InputKind] = {
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".webp": "image",
    ".gif": "image",
    ".wav": "audio",
    ".mp3": "audio",
    ".pdf": "pdf",
}
_KIND_OF_TYPE: dict[str, InputKind] = {"image": "image", "audio": "audio", "application": "pdf"}


@dataclass(frozen=True)
class ShownInput:
    """One file, with its names for the model and for the transcript."""

    media: Media
    file: ShownFile


class StoredInput(NamedTuple):
    """An input file that may be shown."""

    path: str
    size_bytes: int
    read: Callable[[], bytes]


async def shown_inputs(assignment: Assignment) -> tuple[ShownInput, ...]:
    """Return the task's files that the agent's model reads, in the task's order.

    Files that are too large or too many are left out; tools can read all of them.
    """
    agent, folder = assignment.agent, assignment.input_folder
    if folder is None:
        return ()
    kinds = native_inputs(agent)
    wanted = [path for path in assignment.brief.files if input_kind(path) in kinds]
    return await asyncio.to_thread(_read, folder, wanted) if wanted else ()


def input_kind(path: str) -> InputKind | None:
    """Return of which kind that models may read a file is by its name; None: of none."""
    return _KINDS.get(PurePosixPath(path).suffix.lower())


def within_caps(files: Iterable[StoredInput]) -> tuple[ShownInput, ...]:
    """Return those of the files that are shown, in order; files that are too large are not read.

    Left out are those that are too large or too many, or of another kind than their names say.
    """
    shown: list[ShownInput] = []
    together = 0
    for path, size, read in files:
        kind = input_kind(path)
        if kind is None or size > _MAX_BYTES[kind] or together + size > MAX_TOGETHER_BYTES:
            continue
        data = read()
        media_type = media_type_of(data)
        if media_type is None or _KIND_OF_TYPE[media_type.partition("/")[0]] != kind:
            continue
        shown.append(_shown(f"{INPUT}{path}", data, media_type))
        together += size
        if len(shown) == MAX_FILES:
            break
    return tuple(shown)


def _read(folder: Path, paths: Sequence[str]) -> tuple[ShownInput, ...]:
    return within_caps(_in_folder(folder, paths))


def _in_folder(folder: Path, paths: Sequence[str]) -> Iterator[StoredInput]:
    for path in paths:
        place = folder / path
        # A task's own program may have removed a file, or replaced it with something else.
        if not place.is_symlink() and place.is_file():
            yield StoredInput(path, place.stat().st_size, place.read_bytes)


def _shown(name: str, data: bytes, media_type: MediaType) -> ShownInput:
    digest = hashlib.sha256(data).hexdigest()
    return ShownInput(
        Media(media_type, data, PurePosixPath(name).name),
        ShownFile(name=name, sha256=digest, media_type=media_type),
    )


def with_files(message: Message, shown: Sequence[ShownInput]) -> Message:
    """Return a message of text alone with the files attached, and named in their order."""
    if not shown:
        return message
    names = ", ".join(item.file.name for item in shown)
    text = f"{message.text}\n\nShown with this message, in this order: {names}"
    return Message(message.role, text, media=tuple(item.media for item in shown))
