"""Trials that never ran, whose every text is one of the test's own."""

import io
import wave
from collections.abc import Mapping
from datetime import UTC, datetime

from taskdata.schema.run import Deliverable, OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore
from taskdata.schema.transcript import (
    Ending,
    Event,
    MessageEvent,
    ModelEvent,
    ShownFile,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.views import (
    HtmlView,
    ImageView,
    JsonView,
    RenderedDeliverable,
    Table,
    TextView,
    View,
)
from taskdata.store import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def tree(score: float, reason: str) -> NodeScore:
    leaf = NodeScore(
        id="sum",
        requirement="The sum is right.",
        weight=1,
        score=score,
        coverage=1,
        leaf=LeafScore(leaf_id="sum", score=score, verifier="check:json_values@1", reason=reason),
    )
    return NodeScore(
        id="root",
        requirement="The file is right.",
        weight=1,
        score=score,
        coverage=1,
        children=(leaf,),
    )


def silence() -> bytes:
    """Return a second of nothing as a WAV file."""
    data = io.BytesIO()
    with wave.open(data, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16_000))
    return data.getvalue()


def transcript_of(text: str, turns: int) -> Transcript:
    shown = ShownFile(name=text, sha256="a" * 64, media_type=text)
    events: list[Event] = [MessageEvent(role="user", text=text, shown=(shown,))]
    for turn in range(turns):
        call = ToolCall(id=str(turn), tool="write_file", arguments={"content": text})
        answer = f"{text} file-{turn}"
        events += [
            ModelEvent(text=text, thinking=text, model=text, started_at=NOON, seconds=1),
            ToolEvent(call=call, text=answer, started_at=NOON, seconds=1),
        ]
    return Transcript(events=tuple(events), final_answer=text, ending=Ending.FINISHED)


def views_of(text: str) -> dict[str, View]:
    """Return a view of each kind, by the name of its file."""
    pixel = {"format": "PNG", "width": 1, "height": 1, "mode": "L", "grid": (), "colours": {}}
    return {
        "out.json": JsonView(value={text: text}),
        "page.html": HtmlView(
            title=text, headings=(), text=text, tables=(Table(rows=((text,), (text,))),)
        ),
        "image.png": ImageView(**pixel, mean_luminance=0, contrast=0),
        "<img src=x onerror=window.pwned=1>.txt": TextView(text=text),
    }


def outcome_of(
    trial: Trial, text: str, store: Store, files: Mapping[str, bytes], turns: int
) -> TrialOutcome:
    transcript = transcript_of(text, turns).model_dump_json().encode()
    return TrialOutcome(
        trial_id=trial.id,
        attempt=1,
        status=OutcomeStatus.FINISHED,
        ending=Ending.FINISHED,
        final_answer=text,
        transcript_sha256=store.artifacts.put_bytes(transcript),
        deliverables=tuple(
            Deliverable(name=name, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))
            for name, data in files.items()
        ),
        rejected_files=(text,),
        wall_seconds=3,
        turns=1,
        sandbox="bubblewrap",
        code_version="test",
        started_at=NOON,
        finished_at=NOON,
    )


def rendered(text: str, store: Store) -> list[RenderedDeliverable]:
    kept = store.artifacts.put_bytes(b"x")
    # Not a picture at all: a browser that shows it as one must not run what is in it.
    preview = store.artifacts.put_bytes(b"\x89PNG\r\n\x1a\n" + text.encode())
    return [
        RenderedDeliverable(
            name=name,
            sha256=kept,
            view=view,
            preview_png_sha256=preview if name == "image.png" else None,
        )
        for name, view in views_of(text).items()
    ]
