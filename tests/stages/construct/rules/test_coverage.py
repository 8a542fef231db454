"""The coverage map says which explicit requirements of a query no leaf scores."""

import pytest

from stages.construct.rules.coverage import coverage_map
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import TaskDraft

SHEETS = Check(name="xlsx_sheets", deliverable="a.xlsx", args={"names": ["Totals", "Notes"]})


@pytest.fixture
def mapped():
    """Return the map of a task with that query as pairs of quote and leaves."""

    def make(query: str, *leaves: Checkpoint) -> dict[str, tuple[str, ...]]:
        draft = TaskDraft(
            title="A workbook",
            query=query,
            category="data_analysis",
            capabilities=("logic",),
            deliverables=({"name": "a.xlsx", "type": "xlsx"},),
            tools=("python_execute",),
            checkpoints=Checkpoint(id="root", requirement="It is right.", children=leaves),
        )
        return {one.quote: one.leaves for one in coverage_map(draft)}

    return make


def leaf(name: str, requirement: str, verifier: Check | Judge) -> Checkpoint:
    return Checkpoint(id=name, requirement=requirement, verifier=verifier)


def judged(name: str, requirement: str, rubric: str = "10 if so") -> Checkpoint:
    return leaf(name, requirement, Judge(rubric=rubric))


def test_a_file_is_covered_by_the_leaves_that_look_at_it(mapped):
    assert mapped("Make a.xlsx.", leaf("sheets", "It is there.", SHEETS)) == {"a.xlsx": ("sheets",)}
    assert mapped("Make a.xlsx.", judged("tone", "It is kind.")) == {"a.xlsx": ()}


@pytest.mark.parametrize("marks", ['""', "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb", "``"])
def test_a_quoted_name_needs_a_leaf_that_states_it(mapped, marks):
    query = f"Make a sheet {marks[0]}Totals{marks[1]} and one called {marks[0]}Costs{marks[1]}."
    found = mapped(query, leaf("sheets", "It is there.", SHEETS))
    assert (found["Totals"], found["Costs"]) == (("sheets",), ())


def test_a_number_of_parts_is_covered_in_words_and_in_figures(mapped):
    query = "Write six short slides and 3 questions."
    found = mapped(query, judged("deck", "The deck has 6 slides."))
    assert (found["six short slides"], found["3 questions"]) == (("deck",), ())
    assert mapped(query, judged("deck", "It is there.", "10 for three"))["3 questions"] == ("deck",)


def test_sheets_that_are_all_named_are_a_number_of_sheets(mapped):
    named = leaf("sheets", "It is there.", SHEETS)
    assert mapped("Make two sheets.", named)["two sheets"] == ("sheets",)
    assert mapped("Make three sheets.", named)["three sheets"] == ()


def test_numbers_of_other_things_are_no_requirements(mapped):
    assert set(mapped("We have 40 kg of leek, 12 members.", judged("n", "Ok."))) == {"a.xlsx"}


def test_a_new_query_has_a_new_map(mapped):
    deck = judged("deck", "The deck has 6 slides.")
    assert "two charts" not in mapped("Write six slides.", deck)
    assert mapped("Write six slides and two charts.", deck)["two charts"] == ()
