"""Storing what a trial leaves: its transcript and its deliverables."""

from dataclasses import dataclass

from environments.sandbox.collect import Collected
from taskdata.schema.run import Deliverable
from taskdata.schema.transcript import Transcript
from taskdata.store import Store


@dataclass(frozen=True)
class Stored:
    """What of a trial is in the store."""

    transcript_sha256: str
    deliverables: tuple[Deliverable, ...]
    rejected: tuple[str, ...]


def stored(store: Store, transcript: Transcript, collected: Collected) -> Stored:
    """Store a transcript and what was collected; blocks."""
    deliverables = tuple(
        Deliverable(
            name=file.name,
            sha256=store.artifacts.put_file(file.path),
            size_bytes=file.path.stat().st_size,
        )
        for file in collected.files
    )
    written = store.artifacts.put_bytes(transcript.model_dump_json().encode())
    return Stored(written, deliverables, collected.rejected)
