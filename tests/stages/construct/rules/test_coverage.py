"""The coverage map says which explicit requirements of a query no leaf scores."""

import pytest

from stages.construct.rules.coverage import coverage_map, named_requirement, uncovered
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.requirement import MapOrigin

SHEETS = Check(name="xlsx_sheets", deliverable="a.xlsx", args={"names": ["Totals", "Notes"]})


@pytest.fixture
def mapped():
    """Return the map of a task with that query as pairs of quote and leaves."""

    def make(query: str, *leaves: Checkpoint) -> dict[str, tuple[str, ...]]:
        return {one.quote: one.leaves for one in coverage_map(drafted(query, *leaves))}

    return make


def drafted(query: str, *leaves: Checkpoint) -> TaskDraft:
    return TaskDraft(
        title="A workbook",
        query=query,
        category="data_analysis",
        capabilities=("logic",),
        deliverables=({"name": "a.xlsx", "type": "xlsx"},),
        tools=("python_execute",),
        checkpoints=Checkpoint(id="root", requirement="It is right.", children=leaves),
    )


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


def test_a_model_cannot_declare_a_file_covered_that_no_leaf_looks_at():
    draft = drafted("Make a.xlsx kindly.", judged("tone", "It is kind."))
    named = [named_requirement(draft, quote, ["tone"]) for quote in ("a.xlsx", "kindly")]
    found = {one.quote: (one.leaves, one.origin) for one in coverage_map(draft, named)}
    assert found == {"a.xlsx": ((), MapOrigin.CODE), "kindly": (("tone",), MapOrigin.MODEL)}
    assert [one.rule for one in uncovered(draft, named)] == ["coverage"]


def test_what_a_model_named_ends_with_its_words_and_its_leaves():
    before = drafted("Make a.xlsx,\nin  good order.", leaf("sheets", "It is there.", SHEETS))
    named = named_requirement(before, "\u201cin good order.\u201d", ["sheets"])
    assert named.quote == "in good order"
    other_tree = drafted(before.query, judged("tone", "It is kind."))
    assert coverage_map(other_tree, [named])[-1].leaves == ()
    other_query = drafted("Make a.xlsx.", leaf("sheets", "It is there.", SHEETS))
    assert [one.quote for one in coverage_map(other_query, [named])] == ["a.xlsx"]


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ("in bad order", "do not stand in the query"),
        ("in", "has 2 characters"),
        ("order " * 60, "3 to 300 name one requirement"),
    ],
)
def test_a_quote_is_words_of_the_query_for_one_requirement(quote, told):
    with pytest.raises(BadTaskData, match=told):
        named_requirement(drafted("Make a.xlsx in good order.", judged("tone", "Ok.")), quote, [])
