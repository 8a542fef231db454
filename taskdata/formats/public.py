"""Tasks for publication: JSON Lines of `PublicTask`, with the files that agents are given."""

from collections.abc import Iterable
from pathlib import Path

from taskdata.formats.exporting import Fetch, replacing, target
from taskdata.schema.public import public_task
from taskdata.schema.task import Task

DOCUMENT = "public.jsonl"


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, canary: str) -> None:
    """Write what agents see of the tasks to `public.jsonl` in a folder.

    Raises:
        Misuse: if something is there.
    """
    place = target(path, DOCUMENT, fetch, force=False)
    with replacing(place.document) as stream:
        for task in tasks:
            place.put(task.files)
            stream.write(public_task(task, canary).canonical_json().encode() + b"\n")
