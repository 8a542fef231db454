import pytest

from flows.config import load_settings


@pytest.fixture
def store(home, open_store):
    """The store of the pages; test files fill it under the same name."""
    store = open_store(load_settings().address)
    yield store
    store.close()
