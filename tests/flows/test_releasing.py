"""What could not be played, or was withdrawn, is not released."""

from datetime import UTC, datetime

import pytest

from flows.banks.releasing import release_composition
from flows.config import load_settings
from stages.release.release import Composition
from taskdata.errors import GateFailed, Misuse
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.release import Lineage
from taskdata.schema.withdrawal import Withdrawal


def composition_of(*tasks):
    lineage = tuple(
        Lineage(task_id=t.id, task_hash=t.content_hash, proof="unproven", origin="base")
        for t in tasks
    )
    return Composition(bank="office", tasks=tasks, lineage=lineage)


def test_a_task_whose_check_does_not_exist_stops_the_release(home, store, new_task):
    leaf = Checkpoint(
        id="all", requirement="It is right.", verifier=Check(name="guess", deliverable="out.json")
    )
    task = new_task("broken", checkpoints=leaf)
    with pytest.raises(GateFailed, match=r"1 tasks could not be played: broken; .*check 'guess'"):
        release_composition(load_settings(), store, composition_of(task))
    assert store.release_notes("office") == []


def test_a_withdrawn_task_is_neither_proven_nor_released(home, store, new_task):
    task = new_task("leaked")
    tombstone = Withdrawal(
        task_hash=task.content_hash,
        task_id=task.id,
        bank="office",
        reason="leaked",
        withdrawn_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    store.add_withdrawals([tombstone])
    with pytest.raises(Misuse, match="all of its tasks were withdrawn"):
        release_composition(load_settings(), store, composition_of(task))
