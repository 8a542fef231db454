"""Wording: what prescribes an action or a step, and what only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.construct.rules.wording import action_words, prescribed_steps


@pytest.mark.parametrize(
    "text",
    [
        "Open the workbook and read the second sheet.",
        "Use the ReadCSV tool on the attached file.",
        "The summary was made with the spreadsheet tool.",
        "The agent reads every page of the report.",
        "The assistant correctly calls the plotting function.",
        "10 points if there is a tool call that reads the file.",
        "Run the script and keep its output.",
        "First, the rows are loaded, then they are sorted.",
        "The figures of step 2 are in the file.",
        "Finally, the file is saved.",
        "  call this function once",
    ],
)
def test_an_action_is_no_outcome(text):
    assert action_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "The page opens with a summary of three sentences.",
        "Open questions are listed at the end of the memo.",
        "Use of colour is consistent over all slides.",
        "The report uses the figures of the attached table.",
        "Search results are ranked by price.",
        "The first column names the month, the second the total.",
        "Call to action: the flyer ends with the phone number.",
        "The audio lasts between 2.5 and 3.5 minutes.",
        "Instructions for the reader come in a numbered list.",
        "The tool shed is shown on the map.",
    ],
)
def test_an_outcome_is_no_action(text):
    assert action_words(text) is None


@pytest.mark.parametrize(
    "query",
    [
        "Step 1: load the table\nthen tell me the sum.",
        "Do this in step 1 and that in step 2, please.",
        "1. Open the workbook\n2. Extract the totals\n3. A chart would be nice",
        "First load the CSV file, then filter the rows of May.",
        "- Step 3 is to sort the rows",
    ],
)
def test_a_query_that_says_how_to_work_is_found(query):
    assert prescribed_steps(query)


@pytest.mark.parametrize(
    "query",
    [
        "I need 1. a table of all crops\n2. a chart of the totals\n3. a short note.",
        "We are at step 3 of the grant application; write the budget page.",
        "First of all: thank you! I need the totals, then I can pay the invoice.",
        "The first sheet has the prices and the second the amounts.",
        "Write a recipe with numbered steps that a child can follow.",
    ],
)
def test_a_query_that_says_what_is_wanted_is_left_alone(query):
    assert prescribed_steps(query) is None


@given(st.text(alphabet="first, then step 12.\n`use the tool", max_size=5_000))
def test_no_text_is_too_much(text):
    action_words(text)
    prescribed_steps(text)
