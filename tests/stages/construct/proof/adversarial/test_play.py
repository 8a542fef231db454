"""What trees give cheats, which faults they notice, and which faults do not count."""

import asyncio

import pytest

from stages.construct.proof.adversarial.play import Played, resistance_of
from stages.construct.proof.adversarial.report import (
    CheatScore,
    FaultCount,
    Resistance,
    mutation_score,
)
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.task import DeliverableSpec
from taskdata.schema.views import CsvView, Table

ORDERS = (("Crop", "Kilos"), *((f"Crop {n}", str(7 * n)) for n in range(1, 30)))
TOTALS = (("Crop", "Total"), ("Crop 9", "63"), ("Crop 18", "126"))


def csv(rows):
    return CsvView(table=Table(rows=rows))


def leaf(id_, name, args, requirement):
    check = Check(name=name, deliverable="totals.csv", args=args)
    return Checkpoint(id=id_, requirement=requirement, verifier=check)


RIGHT = leaf(
    "right",
    "csv_table",
    {"columns": ["Crop", "Total"], "key": "Crop", "rows": [["Crop 9", 63], ["Crop 18", 126]]},
    "The totals are right.",
)
TONE = Checkpoint(id="tone", requirement="It is tidy.", verifier=Judge(rubric="10: tidy"))


@pytest.fixture
def task(new_task):
    def make(*leaves):
        root = Checkpoint(id="root", requirement="It is right.", children=leaves)
        spec = DeliverableSpec(name="totals.csv", type="csv")
        fields = {
            "deliverables": (spec,),
            "checkpoints": root,
            "query": "Add up the crops.",
        }
        return new_task("totals", **fields)

    return make


def played(task, view):
    judged = {"score": None, "verifier": "judge:none@1", "unscored": Unscored.NOT_CONFIGURED}
    full = {"score": 10, "verifier": "check:csv_table@2"}
    leaves = {
        one.id: LeafScore(
            leaf_id=one.id, reason="", **(judged if isinstance(one.verifier, Judge) else full)
        )
        for one in task.checkpoints.leaves()
    }
    return Played(views={"totals.csv": view}, answer="Done.", leaves=leaves, score=10.0)


def resistance(task, view=None, inputs=None):
    reference = None if view is None else played(task, view)
    return asyncio.run(resistance_of(task, inputs or {"orders.csv": csv(ORDERS)}, reference))


def test_a_tree_that_looks_at_its_values_notices_all_faults_and_pays_no_cheat(task):
    found = resistance(task(RIGHT, TONE), csv(TOTALS))
    assert found.survivors == ()
    assert found.tried == found.noticed >= 8
    assert mutation_score([found]) == 1
    assert found.paid == ()
    assert {cheat.name for cheat in found.cheats} >= {
        "everything dumped",
        "inputs copied",
        "all words and numbers",
        "candidates enumerated",
        "skeletons without content",
    }


def test_a_requirement_that_its_check_does_not_look_at_lets_faults_survive(task):
    lenient = leaf(
        "columns", "csv_columns", {"columns": ["Crop"]}, "The two crops with totals 63 and 126."
    )
    found = resistance(task(lenient), csv(TOTALS))
    assert {survivor.fault for survivor in found.survivors} >= {"value swapped", "row dropped"}
    assert 0 < mutation_score([found]) < 1
    assert "totals.csv: " in found.unnoticed[0]


def test_a_tree_that_looks_at_headers_alone_pays_for_the_input_copied(task):
    lenient = leaf("columns", "csv_columns", {"columns": ["Crop", "Kilos"]}, "It has columns.")
    found = resistance(task(lenient))
    assert [cheat.name for cheat in found.paid][:1] == ["everything dumped"]
    assert {cheat.name for cheat in found.paid} >= {"everything dumped", "inputs copied"}
    assert found.overpaid[0] == "everything dumped earns 10.00, more than 3 (columns)"
    assert (found.faults, mutation_score([found])) == ((), None)


def test_what_only_a_judge_decides_is_neither_paid_nor_noticed(task):
    judged = TONE.model_copy(
        update={"verifier": Judge(rubric="tidy", deliverables=("totals.csv",))}
    )
    found = resistance(task(judged), csv(TOTALS))
    assert (found.tried, found.best_cheat) == (0, None)


def test_the_mutation_score_is_over_all_mutants_of_what_is_named():
    sound = Resistance(faults=(FaultCount(fault="deleted", tried=9, noticed=9),), not_asked_for=40)
    weak = Resistance(faults=(FaultCount(fault="deleted", tried=1, noticed=0),))
    assert mutation_score([sound, weak]) == pytest.approx(0.9)
    assert mutation_score([Resistance()]) is None
    assert not CheatScore(name="x", score=3.0).is_paid
    assert CheatScore(name="x", score=3.01).is_paid


def test_a_tree_that_counts_words_is_paid_for_idle_talk(new_task):
    size = {"min_words": 120, "max_words": 130}
    check = Check(name="text_length", deliverable="note.md", args=size)
    long = Checkpoint(id="long", requirement="It has about 125 words.", verifier=check)
    note = DeliverableSpec(name="note.md", type="md")
    tree = Checkpoint(id="root", requirement="It is right.", children=(long,))
    counted = new_task("note", query="Write it.", deliverables=(note,), checkpoints=tree)
    found = asyncio.run(resistance_of(counted, {}, None))
    paid = {cheat.name: cheat.score for cheat in found.cheats}
    assert paid["idle talk of the length asked for"] == 10
    assert paid["everything dumped"] == 0
    assert found.best_cheat == 10
