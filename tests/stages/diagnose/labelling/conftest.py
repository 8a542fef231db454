"""Failed trials in the store, of runs whose labeller is a scripted server."""

import json
from collections.abc import Callable, Sequence

import pytest

from taskdata.schema.run import Run, Trial, TrialOutcome
from taskdata.schema.scores import TrialScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Event
from taskdata.schema.views import RenderedDeliverable, TextView
from taskdata.store import Store
from tests.stages.diagnose.conftest import scored, with_reasons
from tests.stages.diagnose.played import REFUSED, called, replied, transcript_of

MEMO = "Dear all,\nthe trip costs 412 euros for two people."
EVENTS = (
    replied("I look at the rates first."),
    called("ReadPDF", {"path": "input/rates.pdf"}, text="Hotel: 120 a night\nTrain: 86 each way"),
    replied("The hotel is 95 a night, so I write the memo."),
    called("write_file", {"path": "output/memo.docx", "text": MEMO}, files=["output/memo.docx"]),
    called("ReadPDF", {"path": "input/none.pdf"}, error=REFUSED, text="There is no such file."),
)


@pytest.fixture
def new_labelled_run(new_run: Callable[..., Run], trip_task: Task, wire) -> Callable[..., Run]:
    """Make a run over the trip with the scripted server as its labeller."""

    def make(**config: object) -> Run:
        labeller = {"provider": "compatible", "model": "l"}
        fields = {"labeller": labeller, "labeller_base_url": wire.openai_url, "repetitions": 64}
        return new_run(trip_task, **(fields | config))

    return make


@pytest.fixture
def play_failed(
    store: Store,
    trip_task: Task,
    plan_trial: Callable[..., Trial],
    make_outcome: Callable[..., TrialOutcome],
) -> Callable[..., str]:
    """Plan, execute and score a trial that left a memo, and return its id."""
    count = iter(range(64))

    def play(
        run: Run,
        memo: str = MEMO,
        events: Sequence[Event] = EVENTS,
        answer: str = "The memo is done.",
        scores: dict[str, float] | None = None,
        reasons: dict[str, str] | None = None,
    ) -> str:
        trial = plan_trial(run, trip_task, "nop", repetition=next(count))
        transcript = transcript_of(*events, answer=answer)
        sha256 = store.artifacts.put_bytes(transcript.model_dump_json().encode())
        outcome = make_outcome(["memo.docx"], answer, trial_id=trial.id)
        store.record_outcome(outcome.model_copy(update={"transcript_sha256": sha256}))
        leaves = {leaf.id: 0.0 for leaf in trip_task.checkpoints.leaves()} | (scores or {})
        root = with_reasons(scored(trip_task.checkpoints, leaves), reasons or {})
        view = RenderedDeliverable(name="memo.docx", sha256="a" * 64, view=TextView(text=memo))
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), [view])
        return trial.id

    return play


def given(name: str, *evidence: tuple[str, str], confidence: float = 0.8) -> dict[str, object]:
    """A label as a model gives it, with pairs of place and quote."""
    cited = [{"place": place, "quote": quote} for place, quote in evidence]
    return {"name": name, "confidence": confidence, "evidence": cited}


def labels(*found: dict[str, object], **chosen: object) -> str:
    """A reply with these labels."""
    return json.dumps({**chosen, "labels": list(found)})


MISREAD = given(
    "fine_grained_perception", ("call 1", "Hotel: 120 a night"), ("turn 2", "The hotel is 95 a")
)
