"""What belongs to a flow run: an id of its own, for good, and nobody else's run."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from prefect._internal.uuid7 import uuid7

from flows.flow_runs import id_of, require_own
from taskdata.errors import StageFailed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, RunConfig, RunStatus

DUE = datetime(2026, 11, 22, 2, tzinfo=UTC)


def batch(size):
    """Ids as Prefect's scheduler makes them for the flow runs that it inserts at once."""
    return [uuid7(ms=1_790_000_000_000) for _ in range(size)]


def test_nights_that_were_scheduled_in_one_batch_have_ids_of_their_own():
    ids = batch(100)
    assert len({str(one)[:13] for one in ids}) == 1, "which is why their heads say nothing"
    assert len({id_of(one, DUE + timedelta(days=n)) for n, one in enumerate(ids)}) == 100
    assert len({id_of(one, DUE) for one in ids}) == 100


def test_an_id_says_when_the_night_was_due_and_which_flow_run_it_is():
    one = uuid4()
    assert id_of(one, DUE) == f"20261122-020000-{str(one)[-6:]}"
    assert id_of(one, DUE.astimezone(ZoneInfo("Asia/Tokyo"))) == id_of(one, DUE)


@pytest.mark.parametrize("status", list(RunStatus))
@pytest.mark.parametrize("starter", ["0197-another", None])
def test_a_run_that_another_started_is_refused_whatever_has_become_of_it(status, starter):
    run = Run(
        id="20261122-020000-abcdef",
        status=status,
        config=RunConfig(agents=(AgentSpec.parse("nop"),)),
        release_hash="0" * 64,
        code_version="1",
        created_at=DUE,
        flow_run_id="0197-mine",
    )
    require_own(run, "0197-mine")
    with pytest.raises(StageFailed, match=rf"{run.id} .*{starter or 'no flow run'}.*{status}"):
        require_own(run.model_copy(update={"flow_run_id": starter}), "0197-mine")
