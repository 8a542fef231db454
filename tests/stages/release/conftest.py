"""A candidate that waits for review."""

import pytest

from taskdata.schema.construct import Construction
from taskdata.schema.seed import SeedQuery


@pytest.fixture
def waiting(store, new_task, new_refresh, new_candidate):
    """A candidate that waits for review in a refresh of the bank `office`."""
    (seed,) = store.add_seeds([SeedQuery(text="add things up", source="internal")], [], [], "f")
    new_refresh(bank="office")
    return new_candidate(new_task("add-things-up"), Construction.REVIEW, id="c1", seed_id=seed)
