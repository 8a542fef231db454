"""A backup that is made while nights write is a whole installation again where it is restored."""

import hashlib
import json
import threading
import zipfile
from pathlib import Path

import pytest

import stages.execute.work as executing
from flows.config import load_settings
from flows.locks import run_lock
from flows.serving.tokens import login_of
from stages.prepare.work import first_trial
from taskdata.schema.run import RunStatus
from taskdata.store import Store


@pytest.fixture
def into(tmp_path, monkeypatch):
    """Go to another home, of a database of its own where one is named; returns its settings."""

    def go(name: str, database_url: str | None = None):
        monkeypatch.setenv("NIGHTSHIFT_HOME", str(tmp_path / name))
        if database_url is not None:
            monkeypatch.setenv("NIGHTSHIFT_DATABASE_URL", database_url)
        else:
            monkeypatch.delenv("NIGHTSHIFT_DATABASE_URL", raising=False)
        return load_settings()

    return go


def whole(settings, recorded, usd: float = 2.0) -> None:
    """Hold that the store has everything of a recorded run, and takes new rows."""
    store = Store.open(settings.address)
    for name in recorded.own | recorded.common:
        assert store.artifacts.read_bytes(name)
    assert len(store.results(recorded.run.id)) == 4
    assert store.score(recorded.trials[1].id).root.score == 8.0
    assert store.spent_usd(recorded.run.id) == usd
    assert [gate.gate for gate in store.gates(recorded.run.id)] == ["tasks"]
    for call in store.paid_calls(recorded.trials[0].id)[:1]:
        store.record_calls([call])  # numbered after those that were copied
    page = settings.run_folder(recorded.run.id) / "dashboard.html"
    assert page.read_text() == f"<p>{recorded.run.id}</p>"
    store.close()


@pytest.mark.parametrize("target", ["kept", "kept.zip"])
def test_what_was_backed_up_is_there_where_it_is_restored(
    command, settings, recorded, into, tmp_path, target
):
    login_of(settings.home)
    run = recorded("one", 1)
    place = tmp_path / target
    said = command("backup", str(place))
    assert (said.returncode, said.stderr) == (0, "")
    assert f"1 runs, {len(run.own | run.common)} artifacts" in said.stdout
    assert "login" not in "".join(names(place))

    elsewhere = into("elsewhere")
    assert command("restore", str(place)).returncode == 0
    whole(elsewhere, run)


def names(place: Path) -> list[str]:
    if place.is_dir():
        return [path.name for path in place.rglob("*")]
    with zipfile.ZipFile(place) as archive:
        return archive.namelist()


@pytest.mark.postgres
def test_a_backup_moves_from_one_kind_of_database_to_another(
    command, recorded, into, postgres_url, tmp_path
):
    run = recorded("one", 1)
    command("backup", str(tmp_path / "files"))
    served = into("served", postgres_url)
    assert command("restore", str(tmp_path / "files")).returncode == 0
    whole(served, run)

    assert command("backup", str(tmp_path / "served.zip")).returncode == 0
    alone = into("alone")
    assert command("restore", str(tmp_path / "served.zip")).returncode == 0
    whole(alone, run, usd=2.5)


def test_a_restore_replaces_nothing_unless_it_is_forced(command, store, recorded, tmp_path):
    first = recorded("one", 1)
    command("backup", str(tmp_path / "kept"))
    second = recorded("two", 0)
    refused = command("restore", str(tmp_path / "kept"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "restore into an empty home and database, or --force" in refused.stderr
    assert {run.id for run in store.runs()} == {first.run.id, second.run.id}
    assert command("restore", str(tmp_path / "kept"), "--force").returncode == 0
    assert [run.id for run in store.runs()] == [first.run.id]


def test_a_run_at_work_is_not_replaced(command, settings, recorded, tmp_path):
    run = recorded("one", 1, RunStatus.RUNNING).run
    command("backup", str(tmp_path / "kept"))
    with run_lock(settings, run.id):
        done = command("restore", str(tmp_path / "kept"), "--force")
    assert f"run {run.id} is being worked on" in done.stderr


def test_the_next_backup_into_a_folder_copies_what_is_new(command, store, recorded, tmp_path):
    recorded("one", 1)
    command("backup", str(tmp_path / "kept"))
    first = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept/artifacts").rglob("*/*")}
    recorded("two", 0)
    command("backup", str(tmp_path / "kept"))
    second = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept/artifacts").rglob("*/*")}
    assert second.items() > first.items()
    assert len(list((tmp_path / "kept").glob("database-*.db"))) == 1


def test_what_is_damaged_is_named_and_not_restored(command, recorded, kept_file, into, tmp_path):
    run = recorded("one", 1)
    place = tmp_path / "kept"
    command("backup", str(place))
    name = min(run.own)
    (place / "artifacts" / name[:2] / name).write_bytes(b"rotten")
    into("elsewhere")
    done = command("restore", str(place))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"artifact {name} is damaged" in done.stderr
    assert Store.open(load_settings().address).is_empty()


def test_what_the_store_has_lost_is_told_and_the_rest_is_kept(
    command, recorded, kept_file, into, tmp_path
):
    run = recorded("one", 1)
    lost = run.trials[0].id
    outcome = Store.open(load_settings().address).outcome(lost)
    kept_file(outcome.transcript_sha256).unlink()
    done = command("backup", str(tmp_path / "kept"))
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "1 artifacts that the database refers to are lost or damaged" in said
    assert f"such as {outcome.transcript_sha256}" in said
    into("elsewhere")
    assert command("restore", str(tmp_path / "kept")).returncode == 0


def test_a_backup_takes_no_place_of_something_else(command, recorded, settings, tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.txt").write_text("mine")
    (tmp_path / "old.zip").write_text("mine")
    for place, why in (
        ("papers", "holds something else than a backup"),
        ("old.zip", "--force overwrites it"),
        (str(settings.home / "kept"), "is inside of what is backed up"),
    ):
        done = command("backup", place)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert command("restore", "papers").returncode == 2
    assert command("restore", "nowhere").returncode == 2


@pytest.mark.parametrize(
    "settings", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
def test_a_backup_under_load_is_consistent_and_its_interrupted_run_can_be_resumed(
    command, settings, store, new_run, new_answer_task, load_module, into, tmp_path
):
    """A night records trials all the while; what is restored is that night at one moment."""
    module = load_module(Path(__file__).parents[2] / "recorded.py")
    task = new_answer_task()
    run = new_run(task)
    trials = [first_trial(run.id, "nop", task.content_hash, task, n) for n in range(40)]
    store.plan_trials(trials)
    begun, enough, ended = threading.Event(), threading.Event(), threading.Event()

    def night() -> None:
        own = Store(settings.address)
        for number in range(100_000):
            if enough.is_set():
                break
            trial = trials[number] if number < 30 else None
            if trial is not None:
                own.record_outcome(module.finished(trial, own, {"a.txt": trial.id.encode()}))
            own.record_calls([module.call(trials[39], reply={"text": f"{number}"})])
            if number == 5:
                begun.set()
        own.close()
        ended.set()

    writer = threading.Thread(target=night)
    writer.start()
    begun.wait(30)
    done = command("backup", str(tmp_path / "kept"), "--json")
    assert not ended.is_set()
    enough.set()
    writer.join()
    assert json.loads(done.stdout)["missing"] == []

    elsewhere = into("elsewhere")
    assert command("restore", str(tmp_path / "kept")).returncode == 0
    restored = Store.open(elsewhere.address)
    certain, _ = restored.artifact_names()
    for name in certain:
        assert hashlib.sha256(restored.artifacts.read_bytes(name)).hexdigest() == name
    finished = [t.id for t in trials if restored.outcome(t.id) is not None]
    assert finished == [t.id for t in trials[: len(finished)]]
    assert 5 <= len(finished) < 40
    due = executing.due(restored, run.id, 0)
    assert len(due) == 40 - len(finished)
    executing.execute_trials(restored, run.id, sorted(due), {})
    assert executing.due(restored, run.id, 0) == []
    restored.close()
