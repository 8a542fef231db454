"""The notes of a release, with a refresh whose candidates came to every kind of end."""

import pytest

from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
)
from taskdata.schema.release import Lineage, ReferenceKind, ReleaseNotes, TaskChange
from taskdata.schema.run import StageReport
from taskdata.schema.statistics import BankStatistics, Spread
from taskdata.schema.task import Tier
from tests.dashboards.bank.pages import NIGHT, POISON


@pytest.fixture
def refresh(store) -> Refresh:
    """A refresh whose candidates came to every kind of end."""
    refresh = Refresh(
        id="refresh-1",
        status=RefreshStatus.RUNNING,
        config=RefreshConfig(model=ModelSpec(provider="openai", model="gpt-5.2")),
        code_version="test",
        created_at=NIGHT,
    )
    store.add_refresh(refresh)
    for number, (stage, status, reason) in enumerate(
        [
            (Construction.REVIEW, CandidateStatus.RELEASED, "office@2"),
            (Construction.CLASSIFY, CandidateStatus.DELETED, "asks for a private account"),
            (Construction.PROVE, CandidateStatus.QUARANTINED, POISON),
            (Construction.REVIEW, CandidateStatus.OPEN, ""),
            (Construction.GENERATE, CandidateStatus.OPEN, ""),
        ]
    ):
        add_candidate(store, number, stage, status, reason)
    store.record_refresh_stage(
        StageReport(stage="generate", run_id="refresh-1", due=5, done=5, seconds=61)
    )
    return refresh


def add_candidate(store, number: int, stage: Construction, status: CandidateStatus, reason: str):
    candidate = Candidate(
        id=f"c{number}",
        refresh_id="refresh-1",
        task_id=f"made-{number}",
        tier=Tier.WORKFLOW,
        origin=Origin.SEED,
        stage=stage,
        status=status,
        reason=reason,
    )
    store.add_candidates([candidate])


@pytest.fixture
def new_notes(store, new_task):
    """Make the notes of a release of one task; what is not given is that of a bundled bank."""

    def make(title: str = "Sum two numbers", **known: object) -> ReleaseNotes:
        task = new_task("sum-two", title=title)
        release = store.add_release("office", [task], {})
        entry = Lineage(
            task_id=task.id, task_hash=task.content_hash, proof="unproven", origin="base"
        )
        fields = {
            "release_hash": release.hash,
            "bank": "office",
            "version": 2,
            "snapshot_sha256": "a" * 64,
            "statistics": BankStatistics(
                tasks=1,
                tools={"python_execute": 1},
                categories={"data_analysis": 1, "creative_design": 0},
                difficulties={"short": 0, "medium": 0, "long": 1},
                sources={"internal": 1},
                checkable_share=1.0,
                leaves=Spread(total=3, least=3, median=3, most=3),
                minutes=Spread(total=20, least=20, median=20, most=20),
                steps=Spread(total=7, least=1, median=3.5, most=6),
            ),
            "lineage": (entry,),
            "created_at": NIGHT,
        }
        return ReleaseNotes.model_validate(fields | known)

    return make


@pytest.fixture
def made_notes(new_notes, refresh) -> ReleaseNotes:
    """The notes of a release that a refresh made."""
    notes = new_notes(previous_hash="b" * 64, refresh_id=refresh.id)
    made = {
        "proof": "proven",
        "origin": "seed",
        "seed_id": "5eed5eed5eed5eed",
        "seed_source": "reddit",
        "candidate_id": "c0",
        "refresh_id": refresh.id,
        "prompts": ("generate@1", "classify@2"),
        "models": ("gpt-5.2-2026",),
        "reviewer": "kirsten",
        "reference": ReferenceKind.STRONGER_MODEL,
    }
    changes = (
        TaskChange(task_id="new", kind="added", why="seed in refresh-1"),
        TaskChange(task_id="old", kind="removed", why="no longer there"),
        TaskChange(task_id="sum-two", kind="changed", fields=("title", "human_minutes")),
    )
    lineage = (notes.lineage[0].model_copy(update=made),)
    return notes.model_copy(update={"lineage": lineage, "changes": changes})
