"""Two solutions with the full score agree only if the checked columns hold the same."""

import pytest

from stages.construct.proof.adversarial.play import Played
from stages.construct.proof.agreement import disagreements
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.views import CsvView, Table

REFERENCE = (("leek", "40"), ("kale", "2"))


@pytest.fixture
def compared(sums):
    """Compare a reference with another table, when a check names both columns but no value."""
    check = Check(name="csv_columns", deliverable="crops.csv", args={"columns": ["crop", "weight"]})
    leaf = Checkpoint(id="crops", requirement="The table lists the crops.", verifier=check)
    task = sums(
        deliverables=({"name": "crops.csv", "type": "csv"},),
        checkpoints=Checkpoint(id="root", requirement="It is right.", children=(leaf,)),
    )

    def compare(*rows: tuple[str, str]) -> tuple[str, ...]:
        return disagreements(task, left(REFERENCE), left(rows) if rows else left(None))

    return compare


def left(rows) -> Played:
    table = Table(rows=(("crop", "weight"), *(rows or ())))
    views = {} if rows is None else {"crops.csv": CsvView(table=table)}
    return Played(views=views, answer="Done.", leaves={}, score=10.0)


def test_the_same_values_in_another_order_agree(compared):
    assert compared(*reversed(REFERENCE)) == ()


def test_a_value_that_was_rounded_agrees(compared):
    assert compared(("leek", "40.004"), ("kale", "2")) == ()


def test_another_value_in_a_checked_column_disagrees(compared):
    assert compared(("leek", "41"), ("kale", "2")) == (
        "crops.csv: sum of weight: 42 in the reference, 43 in the second",
    )


def test_another_number_of_rows_disagrees(compared):
    found = compared(*REFERENCE, ("beet", "0"))
    assert "crops.csv: rows with a weight: 2 in the reference, 3 in the second" in found


def test_a_missing_deliverable_disagrees(compared):
    assert compared() == ("crops.csv: only the reference delivers it",)
