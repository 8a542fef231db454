"""Checkpoint trees, spelled out where a test cares."""

from collections.abc import Callable

import pytest

from taskdata.schema.checkpoint import Check, Checkpoint

Leaf = Callable[..., Checkpoint]


@pytest.fixture
def make_leaf() -> Leaf:
    """A leaf that code can verify; keywords replace fields."""

    def make(leaf_id: str, **fields: object) -> Checkpoint:
        values: dict[str, object] = {
            "id": leaf_id,
            "requirement": f"The total {leaf_id} is right.",
            "verifier": Check(name="xlsx_table", deliverable="totals.xlsx"),
        }
        return Checkpoint.model_validate(values | fields)

    return make
