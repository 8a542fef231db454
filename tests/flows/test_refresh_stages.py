"""The order of a refresh's stages."""

from datetime import UTC, datetime

import pytest

from flows.banks.refresh import stages_again, stages_of, walk_stages
from stages.release.reviewing.deciding import decide
from taskdata.schema.construct import (
    CandidateStatus,
    Construction,
    Refresh,
    RefreshConfig,
    RefreshStatus,
)

MODEL = {"provider": "openai", "model": "gpt-5-mini"}


def configured(**fields) -> Refresh:
    config = RefreshConfig.model_validate({"model": MODEL, **fields})
    return Refresh(
        id="r",
        status=RefreshStatus.RUNNING,
        config=config,
        code_version="1",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def keys(**fields) -> list[str]:
    return [call.key for call in stages_of(configured(**fields))]


def test_trees_that_proof_finds_weak_are_written_gated_and_proven_again_before_review():
    assert keys(max_rewrites=1)[-6:] == [
        "gate_bank-candidates",
        "prove",
        "checkpoints-proof-1",
        "gate_bank-candidates-proof-1",
        "prove-proof-1",
        "review",
    ]


def test_no_stage_of_a_refresh_is_called_twice_under_one_key():
    refresh = configured(max_rewrites=3, expansions=2)
    turns = [call.key for turn in (1, 2) for call in stages_again(refresh, turn)]
    found = [call.key for call in stages_of(refresh)] + turns
    assert len(found) == len(set(found))
    assert keys(max_rewrites=0)[-3:] == ["gate_bank-candidates", "prove", "review"]


FOLLOWS = {
    "rewrite": Construction.VALIDATE,
    "validate": Construction.CHECKPOINTS,
    "checkpoints": Construction.PROVE,
    "prove": Construction.REVIEW,
}


@pytest.fixture
def walked(store, new_task, new_refresh, new_candidate):
    """Walk through a refresh with two tasks at review, where each pass of review decides anew."""

    def walk(review, *passes):
        refresh = new_refresh(review=review, max_augmentations=0, max_rewrites=1)
        for name in ("one", "two"):
            new_candidate(new_task(name), Construction.REVIEW, id=name)
        called, left = [], list(passes)

        def call(stage):
            called.append(stage.key)
            open_ones = store.candidates("r1", status=CandidateStatus.OPEN)
            if stage.stage == "review":
                for name, verdict in left.pop(0).items():
                    decide(store, store.candidate(name), verdict, "kirsten", "it says too little")
                return
            for candidate in open_ones:
                if candidate.stage.value == stage.stage:
                    store.set_candidate(candidate.id, stage=FOLLOWS[stage.stage])

        walk_stages(store, refresh, call)
        return called

    return walk


def test_what_is_sent_back_is_taken_up_in_the_same_refresh_that_waits_for_its_review(walked):
    first = {"one": "send_back", "two": "approve"}
    called = walked("wait", first, {"one": "send_back"}, {"one": "approve"})
    again = ["rewrite", "validate", "checkpoints", "gate_bank-candidates", "prove", "review"]
    assert [key.partition("-again-")[0] for key in called] == ["review", *again, *again, "release"]
    assert len(called) == len(set(called))


def test_what_is_sent_back_stays_due_where_nobody_is_waited_for(walked, store):
    called = walked("defer", {"one": "send_back", "two": "approve"})
    assert called == ["review", "release"]
    assert store.candidate("one").stage is Construction.REWRITE


def test_what_its_stage_cannot_rewrite_is_not_tried_without_end(walked, store, monkeypatch):
    monkeypatch.setitem(FOLLOWS, "rewrite", Construction.REWRITE)
    called = walked("wait", {"one": "send_back", "two": "approve"})
    assert called.count("release") == 1
    assert store.candidate("one").stage is Construction.REWRITE
