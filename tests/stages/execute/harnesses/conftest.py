import pytest

from taskdata.schema.task import Task


@pytest.fixture
def task(new_answer_task) -> Task:
    """A task that asks for an answer alone."""
    return new_answer_task()
