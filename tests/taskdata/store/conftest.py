"""The store on SQLite and on PostgreSQL, and a run with one trial."""

import pytest

from tests.taskdata.store.records import trial_of


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def store(request, store_address, open_store):
    if request.param == "postgres":
        url = request.getfixturevalue("migrated_postgres_url")
        store_address = store_address.model_copy(update={"database_url": url})
    store = open_store(store_address)
    yield store
    store.close()


@pytest.fixture
def planned(store, new_run, task):
    run = new_run(task)
    trial = trial_of(run, task)
    store.plan_trials([trial])
    return run, trial
