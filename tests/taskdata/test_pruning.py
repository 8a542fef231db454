"""A removed run leaves nothing, and takes nothing that anything else needs."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from taskdata import tables
from taskdata.errors import Misuse
from taskdata.schema.run import RunStatus
from taskdata.store import Store

DAY = timedelta(days=1)


@pytest.fixture
def store(store_on_each):
    return store_on_each


@pytest.fixture
def recorded(store, new_run, new_task, plan_trial, load_module):
    """Record a completed run with a row of every kind."""
    module = load_module(Path(__file__).parents[1] / "recorded.py")

    def record(name: str):
        task = new_task(name)
        run = new_run(task)
        found = module.record(store, run, task, plan_trial)
        store.set_run_status(run.id, RunStatus.COMPLETED)
        return found

    return record


def later() -> datetime:
    """When what was just written is old enough to be removed."""
    return datetime.now(UTC) + DAY + timedelta(minutes=1)


def remove(store, *run_ids: str, now: datetime | None = None) -> list[str]:
    store.begin_removing(run_ids)
    unneeded = store.unneeded_artifacts(store.being_removed())
    return store.remove_rows(store.remove_artifacts(unneeded, now or later()))


def there(store) -> set[str]:
    return {name for name, _ in store.artifacts.listed()}


def rows(store) -> dict[str, int]:
    with store._plainly_reading() as connection:
        return {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar()
            for table in SQLModel.metadata.sorted_tables
        }


def test_what_only_a_removed_run_needs_goes_and_all_else_stays(store, recorded):
    kept = recorded("kept")
    before, files = rows(store), there(store)
    going = recorded("going")
    assert there(store) - files == going.own
    task = rows(store)["task"]

    assert remove(store, going.run.id) == [going.run.id]

    # Tasks and releases are lineage; the replies that all work shares belong to nobody.
    shared = {"task": task, "bank_release": 2, "bank_release_task": 2, "model_call": 6}
    assert rows(store) == before | shared
    assert there(store) == files
    assert store.page_pictures(store.artifacts.put_bytes(b"same"), ".pdf", "1") is not None
    assert store.transcript(kept.trials[0].id).final_answer == kept.trials[0].id
    assert store.spent_usd(kept.run.id) == 2.0


def test_what_no_row_refers_to_goes_once_it_is_old_enough(store, recorded):
    left = recorded("left")
    orphan = store.artifacts.put_bytes(b"an attempt was cut short after this")
    assert store.unneeded_artifacts(()) == {orphan}
    assert store.remove_artifacts({orphan}, datetime.now(UTC)) == {orphan}, "it is too young"
    assert store.remove_artifacts({orphan}, later()) == set()
    assert there(store) == left.own | left.common


def test_what_runs_have_in_common_goes_with_the_last_of_them(store, recorded):
    one, two = recorded("one"), recorded("two")
    remove(store, one.run.id, two.run.id)
    counts = rows(store)
    assert there(store) == set()
    assert {name for name, count in counts.items() if count} == {
        "task",
        "bank_release",
        "bank_release_task",
        "model_call",
    }
    assert store.shared_call("0" * 64) is not None


def test_a_run_that_is_being_removed_is_found_by_nobody(store, recorded):
    run = recorded("one").run
    store.begin_removing([run.id])
    assert store.runs() == []
    with pytest.raises(Misuse, match="is being removed; `nightshift prune --yes` finishes that"):
        store.run(run.id)
    with pytest.raises(Misuse, match="is being removed"):
        store.add_run(run)
    assert (store.find_run(run.id), store.being_removed()) == (None, [run.id])


def test_rows_stay_until_the_last_artifact_is_old_enough(store, recorded):
    going = recorded("going")
    assert remove(store, going.run.id, now=datetime.now(UTC)) == []
    assert there(store) == going.own | going.common
    assert remove(store) == [going.run.id]
    assert there(store) == set()


def test_what_a_prune_was_cut_short_at_is_done_by_the_next(store, recorded, monkeypatch):
    going = recorded("going")
    removed = []
    whole = store.artifacts.remove

    def broken(sha256: str) -> None:
        if len(removed) == 4:
            raise KeyboardInterrupt
        removed.append(sha256)
        whole(sha256)

    monkeypatch.setattr(store.artifacts, "remove", broken)
    with pytest.raises(KeyboardInterrupt):
        remove(store, going.run.id)
    monkeypatch.undo()

    assert remove(store) == [going.run.id]
    assert (there(store), rows(store)["trial"]) == (set(), 0)


def test_a_writer_at_work_keeps_what_it_writes_again(
    store, recorded, kept_file, new_run, task, plan_trial
):
    """It stores a file that a run which goes has, too, and its row only after the sweep."""
    going = recorded("going")
    old = (datetime.now(UTC) - 3 * DAY).timestamp()
    for name in there(store):
        os.utime(kept_file(name), (old, old))
    module = __import__("sys").modules["recorded"]
    trial = plan_trial(new_run(task), task)
    outcome = module.finished(trial, store, {"out.json": f"{going.trials[0].id} own".encode()})

    assert remove(store, going.run.id, now=datetime.now(UTC)) == [], "one of its files is in use"
    store.record_outcome(outcome)

    assert store.artifacts.read_bytes(outcome.deliverables[0].sha256)
    assert remove(store, now=datetime.now(UTC)) == [going.run.id], "a kept run has it now"
    assert there(store) == {outcome.deliverables[0].sha256, outcome.transcript_sha256}


def test_a_run_that_did_not_complete_is_told(store, new_run, task):
    runs = [new_run(task) for _ in range(3)]
    store.set_run_status(runs[1].id, RunStatus.FAILED, "lost")
    store.set_run_status(runs[2].id, RunStatus.COMPLETED)
    assert store.unfinished_runs() == {runs[0].id, runs[1].id}


def test_every_table_with_rows_of_runs_is_known_to_a_prune():
    """A table that refers to runs either goes with them, or keeps them: `runs_in_use`."""
    going = {
        table.name
        for table in SQLModel.metadata.sorted_tables
        for key in table.foreign_keys
        if key.column.table.name in ("run", "trial", "outcome")
    }
    from taskdata.store.pruning import _conditions

    assert going == set(_conditions([])) - {"run", "page_pictures"}
    assert tables.REVISION


@pytest.mark.parametrize("store_on_each", ["sqlite"], indirect=True)
def test_an_emptied_database_gives_its_room_back(store, recorded):
    going = recorded("going")
    with store._plainly_writing() as connection:
        connection.execute(
            sa.update(tables.RunRow.__table__)
            .where(tables.RunRow.__table__.c.id == going.run.id)
            .values(error="x" * 2_000_000)
        )
    remove(store, going.run.id)
    assert store.database_bytes() > 2_000_000
    store.compact()
    assert store.database_bytes() < 1_000_000
    assert Store.open(store.address).runs() == []
