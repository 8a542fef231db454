"""The store on SQLite and on PostgreSQL, and a run with one trial."""

import pytest

from tests.taskdata.store.records import trial_of


@pytest.fixture
def store(store_on_each):
    return store_on_each


@pytest.fixture
def planned(store, new_run, task):
    run = new_run(task)
    trial = trial_of(run, task)
    store.plan_trials([trial])
    return run, trial
