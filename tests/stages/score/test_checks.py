import pytest

from stages.score.guide.document import examples
from stages.score.library import check_library

EXAMPLES = examples()
BY_REGION = {"columns": ["Region", "Revenue"], "key": "region", "rows": [["North", 1234.5]]}


@pytest.mark.parametrize(("name", "deliverable", "args", "score"), EXAMPLES)
def test_by_example(run, name, deliverable, args, score):
    leaf = run(name, deliverable, args)
    assert leaf.score == pytest.approx(score, abs=0.001), leaf.reason
    assert leaf.reason
    assert leaf.verifier == f"check:{name}@{check_library()[name].version}"


def test_every_check_has_an_example_that_passes_and_one_that_does_not():
    passing = {case[0] for case in EXAMPLES if case[3] == 10}
    failing = {case[0] for case in EXAMPLES if case[3] < 10}
    assert passing == failing == set(check_library())


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (("xlsx_cells", "book.xlsx", {"sheet": "Regions", "cells": {"B5": 100}}),
         "0 of 1 cells are right: B5 is 99, expected 100"),
        (("xlsx_table", "book.xlsx", {"sheet": "Data", **BY_REGION}),
         "no sheet 'Data'; there are: Regions, Notes"),
        (("answer_number", None, {"expected": 7}),
         "the answer states 1234.5, 12; expected 7"),
        (("pptx_text_size", "deck.pptx", {"min_pt": 24}),
         "1 of 3 texts have 24 pt or more; the smallest has 20 pt"),
    ],
)  # fmt: skip
def test_reasons_say_what_was_found_and_what_was_expected(run, case, reason):
    assert run(*case).reason == reason
