"""A run with a row of every kind, for tests of what is done with whole runs."""

from dataclasses import dataclass
from datetime import UTC, datetime

from taskdata.schema.agreement import Annotation
from taskdata.schema.diagnosis import Diagnosis, FailureLevels
from taskdata.schema.gate import GateResult
from taskdata.schema.label_agreement import GivenLabels, LabelAnnotation
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.plan_agreement import GivenMarks, PlanAnnotation
from taskdata.schema.run import Deliverable, OutcomeStatus, StageReport, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.transcript import Ending, ShownFile, Transcript, Usage
from taskdata.schema.views import PagePictures, RenderedDeliverable, TextView

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


@dataclass
class Recorded:
    """A run, and the artifacts that its rows refer to."""

    run: object
    trials: list
    own: set[str]
    """Only of this run."""
    common: set[str]
    """Of every run that was recorded like this."""


def finished(trial, store, files: dict[str, bytes], **changes) -> TrialOutcome:
    """The outcome of a trial that left these files; its artifacts are stored."""
    transcript = Transcript(events=(), final_answer=trial.id, ending=Ending.FINISHED)
    fields = {
        "trial_id": trial.id,
        "attempt": 1,
        "status": OutcomeStatus.FINISHED,
        "ending": Ending.FINISHED,
        "deliverables": tuple(
            Deliverable(name=name, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))
            for name, data in files.items()
        ),
        "sandbox": "bubblewrap",
        "code_version": "test",
        "started_at": NOW,
        "finished_at": NOW,
    }
    if "transcript_sha256" not in changes:
        written = transcript.model_dump_json().encode()
        fields["transcript_sha256"] = store.artifacts.put_bytes(written)
    return TrialOutcome(**fields | changes)


def call(trial, **changes) -> ModelCall:
    """A paid call of the trial's agent, whose reply is stored."""
    fields = {
        "purpose": CallPurpose.AGENT,
        "trial_id": trial.id,
        "attempt": 1,
        "key": "b" * 64,
        "model": "gpt-5.2",
        "usage": Usage(input_tokens=70, output_tokens=30),
        "cost_usd": 0.5,
        "at": NOW,
        "reply": {"text": trial.id},
    }
    return ModelCall.model_validate(fields | changes)


def record(store, run, task, plan_trial) -> Recorded:
    """Record a run of two rounds: outcomes, files, scores, labels, calls, gates and stages."""
    put = store.artifacts.put_bytes
    trials = [plan_trial(run, task), plan_trial(run, task, round_=1, feedback="no")]
    own, common = set(), {put(b"same"), put(b"page of same")}
    for trial in trials:
        files = {"out.json": f"{trial.id} own".encode(), "same.pdf": b"same"}
        seen = put(f"{trial.id} seen".encode())
        shown = (ShownFile(name="a slide", sha256=seen, media_type="image/png"),)
        outcome = finished(trial, store, files, tool_pictures=shown)
        store.record_outcome(outcome)
        picture = put(b"page of same")
        store.keep_page_pictures(
            put(b"same"), ".pdf", "1", PagePictures(pictures=(picture,), page_count=1)
        )
        events = put(f"{trial.id} events".encode())
        failed = plan_trial(run, task, agent="reference", repetition=trial.round)
        lost = {
            "status": OutcomeStatus.INFRASTRUCTURE,
            "ending": None,
            "transcript_sha256": None,
            "error": "lost",
            "error_detail": f"The events up to here: artifact {events}",
        }
        store.record_outcome(finished(failed, store, {}, **lost))
        preview = put(f"{trial.id} preview".encode())
        view = RenderedDeliverable(
            name="out.json",
            sha256=outcome.deliverables[0].sha256,
            view=TextView(text=trial.id),
            preview_png_sha256=preview,
        )
        node = NodeScore(
            id="sum",
            requirement="r",
            weight=1,
            score=8.0,
            coverage=1,
            leaf=LeafScore(leaf_id="sum", score=8.0, verifier="check:x@1", reason="found 5"),
        )
        store.record_score(TrialScore(trial_id=trial.id, root=node, scorer_version="1"), [view])
        store.record_diagnosis(
            Diagnosis(
                trial_id=trial.id,
                stage=None,
                type=None,
                levels=FailureLevels(leaf=False, composition=False, deliverable=False),
                evidence=(),
                labeller="rules@1",
            )
        )
        store.save_annotation(
            Annotation(trial_id=trial.id, leaf_id="sum", annotator="ada", score=7)
        )
        labels = GivenLabels(stage="reason")
        store.save_label_annotation(
            LabelAnnotation(trial_id=trial.id, annotator="ada", labels=labels)
        )
        marks = GivenMarks(grade=1)
        store.save_plan_annotation(PlanAnnotation(trial_id=trial.id, annotator="ada", marks=marks))
        store.record_calls([call(trial), call(trial, shared_key=f"{trial.round}" * 64)])
        own |= {outcome.transcript_sha256, outcome.deliverables[0].sha256, events, preview, seen}
        own.add(put(view.model_dump_json().encode()))
    docs = put(f"{run.id} docs".encode())
    store.record_gate(
        GateResult(
            gate="tasks", run_id=run.id, success=True, rows=1, expectations=1, docs_sha256=docs
        )
    )
    store.record_stage(StageReport(stage="execute", run_id=run.id, due=2, done=2))
    store.record_scoring_error(store.trials(run.id)[-1].id, "the judge was gone")
    return Recorded(run, trials, own | {docs}, common)
