"""The order of a refresh's stages."""

from datetime import UTC, datetime

from flows.banks.refresh import stages_of
from taskdata.schema.construct import Refresh, RefreshConfig, RefreshStatus

MODEL = {"provider": "openai", "model": "gpt-5-mini"}


def keys(**fields) -> list[str]:
    config = RefreshConfig.model_validate({"model": MODEL, **fields})
    refresh = Refresh(
        id="r",
        status=RefreshStatus.RUNNING,
        config=config,
        code_version="1",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    return [call.key for call in stages_of(refresh)]


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
    found = keys(max_rewrites=3, expansions=2)
    assert len(found) == len(set(found))
    assert keys(max_rewrites=0)[-3:] == ["gate_bank-candidates", "prove", "review"]
