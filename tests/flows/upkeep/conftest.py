"""Runs on record in a home of its own."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.config import load_settings
from taskdata.schema.run import RunStatus


@pytest.fixture
def settings(request, home, monkeypatch):
    """Those of a home with a database of its own: SQLite, unless a test says `postgres`."""
    if getattr(request, "param", "sqlite") == "postgres":
        url = request.getfixturevalue("migrated_postgres_url")
        monkeypatch.setenv("NIGHTSHIFT_DATABASE_URL", url)
    return load_settings()


@pytest.fixture
def store(settings, open_store):
    store = open_store(settings.address)
    yield store
    store.close()


@pytest.fixture
def recorded(settings, store, new_run, new_task, plan_trial, load_module):
    """Record a run that completed so many days ago, with its page; returns what it left."""
    module = load_module(Path(__file__).parents[2] / "recorded.py")

    def record(name: str, days: int, status: RunStatus = RunStatus.COMPLETED):
        task = new_task(name)
        began = datetime.now(UTC) - timedelta(days=days)
        run = new_run(task)
        with store._writing() as session:
            from taskdata.tables import RunRow

            session.get_one(RunRow, run.id).created_at = began
        found = module.record(store, run, task, plan_trial)
        if status is not RunStatus.RUNNING:
            store.set_run_status(run.id, status)
            with store._writing() as session:
                session.get_one(RunRow, run.id).finished_at = began
        folder = settings.run_folder(run.id)
        folder.mkdir(parents=True)
        (folder / "dashboard.html").write_text(f"<p>{run.id}</p>")
        return found

    return record
