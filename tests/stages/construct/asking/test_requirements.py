"""A small model chooses its quotes among the sentences of the query."""

from stages.construct.asking.requirements import clauses
from stages.construct.rules.coverage import named_requirement
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.construct import TaskDraft

QUERY = "I run a bakery.\nMake waste.csv (rows sorted) and\n  a chart; no more: reply with the sum."


def test_every_sentence_is_a_quote_that_stands_in_the_query():
    draft = TaskDraft(
        title="Waste",
        query=QUERY,
        category="data_analysis",
        capabilities=("logic",),
        tools=("python_execute",),
        checkpoints=Checkpoint(id="root", requirement="Right.", verifier=Judge(rubric="10: so")),
    )
    found = clauses(QUERY)
    assert found[:2] == ["I run a bakery.", "Make waste.csv (rows sorted) and a chart;"]
    named = [named_requirement(draft, quote, ["root"]).quote for quote in found]
    assert named[1] == "Make waste.csv (rows sorted) and a chart"
