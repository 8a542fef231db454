"""Transcripts to files: a folder of ATIF trajectories, or one file of OTLP JSON lines."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from taskdata.errors import Misuse
from taskdata.formats.exporting import replacing
from taskdata.traces import atif, otlp
from taskdata.traces.recorded import RecordedTrial
from taskdata.traces.spans import trace


def write_atif(trials: Iterable[RecordedTrial], folder: Path, *, force: bool) -> int:
    """Write one `<trial id>.json` each into `folder`, and return how many.

    Raises:
        Misuse: if something is there and `force` is not given.
        NightshiftError: if it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise Misuse(f"{folder} is a file; ATIF writes a file per trial: name a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise Misuse(f"{folder} is not empty; give another folder, or --force to overwrite")
    count = 0
    for recorded in trials:
        with replacing(folder / f"{recorded.trial.id}.json") as stream:
            stream.write(atif.document(recorded))
        count += 1
    return count


def write_otel(trials: Iterable[RecordedTrial], path: Path, *, force: bool) -> int:
    """Write one line of OTLP JSON each into the file `path`, and return how many.

    Raises:
        Misuse: if something is there and `force` is not given, or the extra `tracing` is missing.
        NightshiftError: if it cannot be written.
    """
    if path.is_dir():
        raise Misuse(f"{path} is a folder; OTLP JSON lines go into one file: name it")
    if not force and path.exists() and path.stat().st_size:
        raise Misuse(f"{path} is not empty; give another file, or --force to overwrite")
    count = 0
    with replacing(path) as stream:
        for recorded in trials:
            stream.write(otlp.json_line(trace(recorded)))
            count += 1
    return count


class Writer(Protocol):
    """Writes trials to a path and returns how many."""

    def __call__(self, trials: Iterable[RecordedTrial], path: Path, /, *, force: bool) -> int:
        """Write, or raise `Misuse` if something is there and `force` is not given."""


WRITERS: Mapping[str, Writer] = {"atif": write_atif, "otel": write_otel}
"""The formats by name: adding one is one function and one entry here."""


def writer(name: str) -> Writer:
    """Return what writes the format of that name.

    Raises:
        Misuse: if there is none.
    """
    if name not in WRITERS:
        raise Misuse(f"format {name!r} is unknown; transcripts go out as {', '.join(WRITERS)}")
    return WRITERS[name]
