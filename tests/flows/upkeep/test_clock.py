"""The clock of the machine is set back an hour: what is ordered by time stays in its order."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from environments.models.limits.shared_limits import Demand, SharedLimits
from stages.prepare.select import select
from taskdata.artifacts import FRESH
from taskdata.schema.construct import Construction, ConstructionStep, ReviewDecision, TaskDraft
from taskdata.schema.retention import KeepRule, kept_by
from taskdata.schema.run import RunStatus
from taskdata.store import Store

HOUR = timedelta(hours=1)
ON_BOTH = pytest.mark.parametrize(
    "settings", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that can be set: of the modules that ask for the time of runs and of steps."""
    shift = [timedelta(0)]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + shift[0]

    for module in (
        "stages.prepare.select",
        "taskdata.store.runs",
        "taskdata.artifacts",
    ):
        monkeypatch.setattr(f"{module}.datetime", Clock)

    def set_back(by: timedelta) -> None:
        shift[0] -= by

    return set_back


@ON_BOTH
def test_the_run_that_began_last_is_the_newest(command, clock, settings, store):
    from flows.config import run_config
    from stages.prepare.select import new_run_id

    config = run_config(settings, agents=("nop",), tasks=("tram-chime-package",))
    first = select(store, config, new_run_id())
    clock(HOUR)
    second = select(store, config, new_run_id())
    store.set_run_status(first.id, RunStatus.COMPLETED)

    assert first.id != second.id
    assert [run.id for run in store.runs()] == [second.id, first.id]
    assert store.latest_run().id == second.id
    ended = store.run(first.id)
    assert ended.finished_at >= ended.created_at
    listed = json.loads(command("runs", "--json").stdout)["runs"]
    assert [run["id"] for run in listed] == [second.id, first.id]
    assert kept_by(KeepRule(keep=1), store.runs(), datetime.now(UTC)).keys() == {second.id}


def test_a_clock_that_was_wrong_by_days_is_followed_by_nobody(settings, store, clock, task):
    from flows.config import run_config
    from stages.prepare.select import new_run_id

    config = run_config(settings, agents=("nop",), tasks=("tram-chime-package",))
    clock(-timedelta(days=400))
    select(store, config, new_run_id())
    clock(timedelta(days=400))
    run = select(store, config, new_run_id())
    assert abs(store.run(run.id).created_at - datetime.now(UTC)) < HOUR


@ON_BOTH
def test_the_draft_that_was_edited_last_stands(settings, store, new_refresh, new_candidate, task):
    new_refresh()
    candidate = new_candidate(task, Construction.REVIEW)
    before = datetime.now(UTC) - HOUR
    edited = store.draft(candidate.id).model_copy(update={"title": "Edited by a person"})
    decision = ReviewDecision(
        candidate_id=candidate.id, decision="edit", reviewer="ana", draft=edited, at=before
    )
    store.record_review(decision)
    assert store.draft(candidate.id).title == "Edited by a person"
    rewritten = TaskDraft.model_validate(edited.model_dump() | {"title": "Rewritten"})
    store.record_step(
        ConstructionStep(
            candidate_id=candidate.id,
            stage=Construction.REWRITE,
            attempt=1,
            verdict="rewritten",
            draft=rewritten,
            code_version="test",
            at=before + timedelta(minutes=1),
        )
    )
    assert store.draft(candidate.id).title == "Rewritten"


def test_a_pause_of_seconds_does_not_become_one_of_an_hour():
    limits, now = SharedLimits(), 1_000_000.0
    demand = {"openai": Demand(calls=1)}
    paused = {"openai": Demand(calls=1, pause_seconds=20.0)}
    assert limits.shares("one", paused, {}, now)["openai"].pause_seconds == 20.0
    set_back = now + 5 - HOUR.total_seconds()
    assert limits.shares("one", demand, {}, set_back)["openai"].pause_seconds <= 20.0
    assert limits.shares("one", demand, {}, set_back + 21)["openai"].pause_seconds == 0.0


def test_what_was_just_written_stays_fresh_and_is_not_removed(settings, store: Store, clock):
    name = store.artifacts.put_bytes(b"x")
    clock(HOUR)
    assert store.artifacts.is_fresh(name)
    assert not store.artifacts.remove_old(name, datetime.now(UTC) - HOUR)
    clock(-HOUR - FRESH)
    assert not store.artifacts.is_fresh(name)
