"""Tasks for publication: JSON Lines of `PublicTask`, with the files that agents are given."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from taskdata.formats.exporting import Fetch, Target, replacing, target
from taskdata.formats.files import BESIDE
from taskdata.formats.stamping import stamped
from taskdata.schema.public import public_task
from taskdata.schema.task import InputFile, Task

DOCUMENT = "public.jsonl"


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, canary: str) -> None:
    """Write what agents see of the tasks to `public.jsonl` in a folder.

    The files get the canary where their format has a place for it, and so another hash: a public
    task is not imported again.

    Raises:
        Misuse: if something is there.
    """
    place = target(path, DOCUMENT, fetch, force=False)
    kept: set[str] = set()
    with replacing(place.document) as stream:
        for task in tasks:
            files = tuple(_with_canary(place, file, canary, kept) for file in task.files)
            shown = public_task(task, canary).model_copy(update={"files": files})
            stream.write(shown.canonical_json().encode() + b"\n")


def _with_canary(place: Target, file: InputFile, canary: str, kept: set[str]) -> InputFile:
    """Write the file with the canary in it, and return what it has become.

    Args:
        place: Where it is written.
        file: The file.
        canary: The canary.
        kept: Hashes of files that some task has as they are; this one is added where it is so. The
            same bytes take a canary under one name and not under another.
    """
    place.put([file])
    original = place.folder / BESIDE / file.sha256
    content = stamped(file.path, original.read_bytes(), canary)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 == file.sha256:
        kept.add(sha256)
        return file
    with replacing(place.folder / BESIDE / sha256) as stream:
        stream.write(content)
    if file.sha256 not in kept:
        original.unlink()
    return InputFile(path=file.path, sha256=sha256, size_bytes=len(content))
