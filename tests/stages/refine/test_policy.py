"""What the policy leaves out of requirements and quotes, and which counts it tells."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stages.refine.policy import HIDDEN, Policy
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.task import DeliverableSpec
from tests.conftest import make_task

QUERY = "Recommend Alder or Birch for the 12 stops in plan.xlsx, and put the totals into out.json."


def policy_of(*leaves: Checkpoint) -> Policy:
    tree = Checkpoint(id="root", requirement="All of it is right.", children=leaves)
    spec = DeliverableSpec(name="out.json", type="json", description="the totals")
    return Policy(make_task(query=QUERY, deliverables=(spec,), checkpoints=tree))


def leaf(requirement: str, name: str = "text_contains", id_: str = "a", **args: object):
    deliverable = None if name == "answer_contains" else "out.json"
    verifier = Check(name=name, deliverable=deliverable, args=args)
    return Checkpoint(id=id_, requirement=requirement, verifier=verifier)


FIGURES = st.one_of(
    st.integers(13, 10**9).map(str),
    st.integers(1000, 10**9).map("{:,}".format),
    st.floats(13.1, 10**6).map("{:.2f}".format),
    st.floats(0.011, 0.99).map("{:.1%}".format),
    st.floats(13.1, 10**6).map("€{:.2f}".format),
    st.floats(13.1, 10**6).map("-{:.2f},".format),
    st.dates().map(str),
    st.times().map("({:%H:%M})".format),
)


@given(st.lists(FIGURES, min_size=1, max_size=4))
@example(["½"])
@example(["seventy-five"])
@example(["Twenty-one,"])
def test_no_figure_of_a_requirement_is_told(figures: list[str]):
    one = leaf(f"It names {' and '.join(figures)} in that order.")

    told = policy_of(one).requirement(one)

    assert told.startswith("It names ")
    assert told.endswith(" in that order.")
    middle = told.removeprefix("It names ").removesuffix(" in that order.")
    assert set(middle.replace(HIDDEN, " ").split()) <= {"and", "€", "-", "-,", "(", ")", ","}


@given(st.integers(1, 60), st.data())
def test_an_expected_number_is_never_told_as_a_count(asked: int, data: st.DataObject):
    right = data.draw(st.integers(0, asked - 1))
    told = policy_of(leaf("R.", "csv_rows", min=asked)).count(right, asked)

    assert told == f"{right or 'none'} of 12" if asked == 12 else not any(map(str.isdigit, told))


@pytest.mark.parametrize(
    ("right", "asked", "told"),
    [
        (2, 5, "2 of 5"),
        (0, 40, "none of the"),
        (3, 40, "few of the"),
        (19, 40, "about half of the"),
        (30, 40, "most of the"),
        (38, 40, "all but two of the"),
    ],
)
def test_a_count_is_told_in_words_where_its_total_is_expected(right, asked, told):
    policy = policy_of(leaf("There are forty of them.", "csv_rows", min=40))

    assert policy.count(right, asked) == told


@pytest.mark.parametrize(
    ("leaves", "told"),
    [
        # The query names two candidates, and which of them is right is the answer.
        (
            [leaf("Alder is recommended.", "answer_contains", all=[["Alder"]])],
            "[…] is recommended.",
        ),
        (
            [leaf("Alder is priced."), leaf("R.", "answer_contains", "b", all=[["Alder"]])],
            "[…] is priced.",
        ),
        ([leaf("There are 12 stops.", all=[["12"]])], "There are […] stops."),
        ([leaf("There are 12 stops.")], "There are 12 stops."),
        # What one leaf expects, another one's requirement does not tell either.
        (
            [leaf("The site is Nordhaven."), leaf("R.", id_="b", all=[["Nordhaven"]])],
            "The site is […].",
        ),
        (
            [leaf("Silver is the best."), leaf("R.", id_="b", all=[["Jasmine Silver"]])],
            "[…] is the best.",
        ),
        (
            [
                leaf("It argues for Nordhaven."),
                Checkpoint(id="b", requirement="R.", verifier=Judge(rubric="Only Nordhaven fits.")),
            ],
            "It argues for […].",
        ),
        # Words that the task uses as words are not names.
        ([leaf("What was due is what counts."), leaf("R.", id_="b", all=[["What is due"]])], None),
        ([leaf("It has a total."), leaf("R.", id_="b", rows=[["Total", 3]])], None),
        ([leaf("At most two pages.", max=2)], "At most […] pages."),
        ([leaf("At most two pages.", max=3)], None),
    ],
)
def test_a_requirement_says_nothing_of_the_outcome(leaves, told):
    expected = leaves[0].requirement if told is None else told

    assert policy_of(*leaves).requirement(leaves[0]) == expected


def test_a_quote_keeps_what_is_not_expected():
    policy = policy_of(leaf("R.", rows=[["Nordhaven", 4812.5]]))

    told = policy.quote("ReadCSV: line 7 of 4,812.50 has no column Nordhaven in 2025")

    assert told == "ReadCSV: line 7 of […] has no column […] in 2025"
