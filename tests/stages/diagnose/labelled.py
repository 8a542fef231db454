"""Labelled transcripts: finished trials in files, with the labels that a person gave them.

`transcripts/README.md` describes the files. Each trial is a folder in `transcripts/written` (rules
may be written by them) or in `transcripts/held_out` (they only measure).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import TypeAdapter

from stages.diagnose.infrastructure import infrastructure_label
from stages.diagnose.labels import diagnose
from stages.diagnose.record import Record
from stages.diagnose.signals import observe
from stages.diagnose.taxonomies import labels_of
from taskdata.schema.base import Value
from taskdata.schema.diagnosis import (
    LABELS,
    Diagnosis,
    FailureLevels,
    FailureStage,
    FailureType,
    Label,
    Taxonomy,
)
from taskdata.schema.run import Trial, TrialOutcome, TrialResult
from taskdata.schema.scores import TrialScore
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.schema.transcript import Event, ModelEvent, Transcript
from taskdata.schema.views import RenderedDeliverable

FOLDER = Path(__file__).parent / "transcripts"
HALVES = ("written", "held_out")
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_LEFT_OUT = re.compile(r"\[\.\.\. (\d+) characters left out, sha256 ([0-9a-f]{12}) \.\.\.\]")


class Place(Value):
    """Where the fault can be seen; one of the three."""

    line: int | None = None
    """Line of `transcript.jsonl`, from 1."""
    leaf: str | None = None
    """Id of a leaf of the task."""
    deliverable: str | None = None
    """Name of a file that was asked for."""


class GivenLabel(Value):
    """A label of a taxonomy of docs/failures.md, and the places where its fault can be seen."""

    taxonomy: Taxonomy
    name: str
    evidence: tuple[Place, ...] = ()


class GivenLabels(Value):
    """`labels.yaml`: what a person says about a trial."""

    made_by: Literal["script", "model"]
    about: str
    """What the agent did, in a sentence or two."""
    stage: FailureStage | None = None
    """None: the trial did not fail, or it was lost outside its agent."""
    type: FailureType | None = None
    levels: FailureLevels | None = None
    """None: not judged."""
    labels: tuple[GivenLabel, ...] = ()
    debatable: tuple[str, ...] = ()
    """Labels (`loop`), and `stage` or `type`, on which people may disagree: they do not count."""


class StoredTrial(Value):
    """`trial.json`: what is on record of a trial except the events of its transcript."""

    task: str
    """Name of the task's file in `transcripts/tasks`."""
    rule: SuccessRule
    trial: Trial
    outcome: TrialOutcome | None
    scoring_error: str | None = None
    score: TrialScore | None
    views: tuple[RenderedDeliverable, ...]
    """Unreadable deliverables, and small ones."""
    transcript: Transcript | None
    """Without its events."""


@dataclass(frozen=True)
class LabelledTrial:
    """A trial of the collection, by the name of its folder."""

    name: str
    given: GivenLabels
    stored: StoredTrial
    task: Task
    transcript: Transcript | None

    @property
    def result(self) -> TrialResult:
        """The trial's result, as a store returns it."""
        stored = self.stored
        return TrialResult(
            trial=stored.trial,
            outcome=stored.outcome,
            score=stored.score,
            scoring_error=stored.scoring_error,
        )

    @cached_property
    def record(self) -> Record | None:
        """The record that the rules read; None: the trial was lost outside its agent."""
        stored = self.stored
        if stored.outcome is None or stored.score is None or self.transcript is None:
            return None
        signals = observe(
            self.task, stored.outcome, self.transcript, stored.score, stored.views, stored.rule
        )
        return Record(self.task, stored.outcome, self.transcript, stored.score, signals)

    def diagnosed(self) -> tuple[Diagnosis | None, tuple[Label, ...]]:
        """Return what the rules say: stage, type and levels, and the labels of all taxonomies."""
        return diagnosed(self.result, self.record)

    def turn_of(self, line: int) -> int | None:
        """Return the number of the model call to which a line of the transcript belongs."""
        events = () if self.transcript is None else self.transcript.events
        return sum(isinstance(event, ModelEvent) for event in events[:line]) or None


def diagnosed(
    result: TrialResult, record: Record | None
) -> tuple[Diagnosis | None, tuple[Label, ...]]:
    """Return the diagnosis by rules of a trial, and its labels in all taxonomies."""
    lost = infrastructure_label(result)
    if lost is not None or record is None:
        return None, () if lost is None else (lost,)
    found = diagnose(result.trial.id, record.signals)
    return found, () if found.stage is None else labels_of(record)


def labelled_trials(half: str) -> Iterator[LabelledTrial]:
    """Yield the trials of `written` or of `held_out`, by name."""
    for folder in sorted((FOLDER / half).iterdir()):
        if (folder / "labels.yaml").exists():
            yield load(folder)


def load(folder: Path) -> LabelledTrial:
    """Return the trial in a folder with its labels.

    Raises:
        ValueError: a file is not of its format, or a label does not exist.
    """
    given = GivenLabels.model_validate(
        yaml.safe_load((folder / "labels.yaml").read_text(encoding="utf-8"))
    )
    for label in given.labels:
        if label.name not in LABELS[label.taxonomy]:
            raise ValueError(f"{folder.name}: {label.taxonomy} has no label {label.name!r}")
    stored, task, transcript = load_trial(folder)
    return LabelledTrial(folder.name, given, stored, task, transcript)


def load_trial(folder: Path) -> tuple[StoredTrial, Task, Transcript | None]:
    """Return a trial as it was exported, its task and its transcript."""
    stored = StoredTrial.model_validate_json((folder / "trial.json").read_bytes())
    tasks = folder.parents[1] / "tasks"
    task = Task.model_validate_json((tasks / stored.task).read_bytes())
    if stored.transcript is None:
        return stored, task, None
    lines = (folder / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    events = tuple(_EVENT.validate_json(lengthened(line)) for line in lines)
    return stored, task, stored.transcript.model_copy(update={"events": events})


def shortened(text: str, longest: int) -> str:
    """Return the text; of a longer one its beginning and end, and how much was left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    cut = text[half : len(text) - half]
    digest = hashlib.sha256(cut.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    mark = f"[... {len(cut)} characters left out, sha256 {digest} ...]"
    return text[:half] + mark + text[len(text) - half :]


def lengthened(text: str) -> str:
    """Return the text in its true length: dots stand for what was left out."""
    return _LEFT_OUT.sub(lambda cut: cut.group().ljust(int(cut[1]), "."), text)
