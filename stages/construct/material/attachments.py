"""The files that a task may use, as prompts show them: name, size, beginning of a text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from stages.construct.asking.prompting import Untrusted
from taskdata.artifacts import ArtifactStore
from taskdata.schema.task import InputFile

_TEXTS = frozenset({".csv", ".json", ".md", ".txt"})
_MAX_BYTES = 1 << 20
_CHARACTERS = 3_000


@dataclass(frozen=True)
class Attachment:
    """A file in the form in which prompts show it."""

    name: Untrusted
    size_bytes: int
    beginning: Untrusted | None
    """Beginning of a small text file; None for any other file."""


def shown_files(files: Mapping[str, InputFile], artifacts: ArtifactStore) -> tuple[Attachment, ...]:
    """Return the files in order of their names.

    Raises:
        StoreUnavailable: if the bytes of a text file cannot be read.
    """
    return tuple(
        Attachment(Untrusted(path), file.size_bytes, _beginning(file, artifacts))
        for path, file in sorted(files.items())
    )


def _beginning(file: InputFile, artifacts: ArtifactStore) -> Untrusted | None:
    if PurePosixPath(file.path).suffix.lower() not in _TEXTS or file.size_bytes > _MAX_BYTES:
        return None
    text = artifacts.read_bytes(file.sha256).decode("utf-8", "replace")
    return Untrusted(text[:_CHARACTERS])
