"""The formats by name: adding one is one file and one line here."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from taskdata.errors import Misuse
from taskdata.formats import inspect_samples, jsonl, parquet
from taskdata.formats.exporting import Fetch
from taskdata.formats.gta import atomic, publishing, workflow
from taskdata.formats.harbor import reading as harbor
from taskdata.formats.rows import Imported, Source
from taskdata.formats.toolathlon import reading as toolathlon
from taskdata.schema.task import Task


class Writer(Protocol):
    """Writes tasks and their files to a path."""

    def __call__(
        self, tasks: Iterable[Task], path: Path, fetch: Fetch, *, force: bool, canary: str = ""
    ) -> None:
        """Write, or raise `Misuse` if something is there and `force` is not given.

        A canary that is not empty stands with every task; readers take it for no part of it.
        """


@dataclass(frozen=True)
class Format:
    """A format as the registry knows it."""

    name: str
    read: Callable[[Source], Iterator[Imported]]
    write: Writer | None = None
    """None: a format that is read only."""


FORMATS = {
    format.name: format
    for format in (
        Format("jsonl", jsonl.read, jsonl.write),
        Format("parquet", parquet.read, parquet.write),
        Format("gta-atomic", atomic.read),
        Format("gta-workflow", workflow.read, publishing.write),
        Format("toolathlon", toolathlon.read),
        Format("harbor", harbor.read),
        Format("inspect", inspect_samples.read, inspect_samples.write),
    )
}


def reader(name: str) -> Callable[[Source], Iterator[Imported]]:
    """Return the reader of a format.

    Raises:
        Misuse: if there is no such format.
    """
    if name not in FORMATS:
        raise Misuse(f"format {name!r} is unknown; there are: {', '.join(FORMATS)}")
    return FORMATS[name].read


def writer(name: str) -> Writer:
    """Return the writer of a format.

    Raises:
        Misuse: if there is no such format, or it is read only.
    """
    write = FORMATS[name].write if name in FORMATS else None
    if write is None:
        written = ", ".join(f.name for f in FORMATS.values() if f.write)
        raise Misuse(f"format {name!r} cannot be written; those that can: {written}")
    return write
