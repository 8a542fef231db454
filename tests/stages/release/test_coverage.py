"""A released task shows the coverage map that its candidate was given."""

from datetime import UTC, datetime

from stages.release.coverage import coverage_of
from stages.release.release import compose, release
from stages.release.reviewing.deciding import approve_all
from taskdata.schema.construct import Construction, ConstructionStep

NAMED = {"kind": "words", "quote": "of 3 and 2", "leaves": ["sum", "gone"], "origin": "model"}


def test_the_map_of_a_released_task_holds_what_the_model_named(store, waiting):
    step = ConstructionStep(
        candidate_id=waiting.id,
        stage=Construction.CHECKPOINTS,
        attempt=1,
        verdict="kept",
        facts={"coverage_map": [NAMED]},
        code_version="test",
        at=datetime.now(UTC),
    )
    store.record_step(step, stage=Construction.PROVE)
    proof = {"stage": Construction.PROVE, "verdict": "unproven", "facts": {"coverage": 1.0}}
    store.record_step(step.model_copy(update=proof), stage=Construction.REVIEW)
    refresh = store.refresh(waiting.refresh_id)
    approve_all(store, refresh.id, "kirsten", "reads well")
    notes = release(store, compose(store, refresh))
    (task,) = store.tasks_of_release(notes.release_hash).values()
    by_code = ("out.json", ("sum", "difference", "product"))
    found = coverage_of(store, task, notes)
    assert [(one.quote, one.leaves) for one in found] == [by_code, ("of 3 and 2", ("sum",))]
    assert [(one.quote, one.leaves) for one in coverage_of(store, task)] == [by_code]
