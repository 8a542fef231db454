"""What could not be played is not released."""

import pytest

from flows.banks.releasing import release_composition
from flows.config import load_settings
from stages.release.release import Composition
from taskdata.errors import GateFailed
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.release import Lineage


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
