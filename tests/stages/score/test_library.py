import pytest

from stages.score.check import CheckSpec
from stages.score.library import check_library, validate_check
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check
from taskdata.schema.views import JsonView, UnreadableView


@pytest.mark.parametrize(
    ("name", "deliverable", "args", "message"),
    [
        ("xlsx_cell", "a.xlsx", {}, "'xlsx_cell' is not in the library"),
        ("xlsx_cells", "a.xlsx", {"sheet": "S"}, "'xlsx_cells': field args.cells"),
        ("xlsx_cells", "a.xlsx", {"sheet": "S", "cells": {"B": 1}}, "field args.cells.B"),
        ("xlsx_cells", "a.xlsx", {"sheet": "S", "cells": {"B2": [1]}}, "field args.cells.B2"),
        ("xlsx_cells", "a.xlsx", {"sheet": "S", "cells": {}}, "field args.cells"),
        (
            "xlsx_cells",
            "a.docx",
            {"sheet": "S", "cells": {"B2": 1}},
            "this check reads xlsx, which",
        ),
        ("xlsx_cells", None, {"sheet": "S", "cells": {"B2": 1}}, "field deliverable"),
        (
            "text_contains",
            "a.txt",
            {"all": [["Total due"], ["paid"]], "none": ["total"]},
            "`none` forbids 'Total due', which `all` demands",
        ),
        ("answer_contains", "a.txt", {"all": [["x"]]}, "field deliverable"),
        ("answer_contains", None, {"all": [[]]}, "field args.all.0"),
        ("answer_contains", None, {"all": [["x"]], "nonne": []}, "field args.nonne"),
        ("answer_number", None, {"expected": float("nan")}, "field args.expected"),
        ("text_matches", "a.md", {"pattern": "(open"}, "field args.pattern"),
        ("text_length", "a.md", {}, "needs min_words or max_words"),
        ("csv_table", "a.csv", {"columns": ["a"], "rows": [[1, 2]], "key": "a"}, "does not have 1"),
        ("csv_table", "a.csv", {"columns": ["a"], "rows": [[1]], "key": "b"}, "key 'b'"),
        ("csv_table", "a.csv", {"columns": [False], "rows": [[1]], "key": "b"}, "in quotes"),
        ("json_schema", "a.json", {"schema": {"type": "strin"}}, "field args: Value error, not a"),
        ("json_values", "a.json", {"values": {"a[x]": 1}}, "field args.values.a[x]"),
        ("image_region", "a.png", {"box": [0.5, 0, 0.1, 1], "colour": "000000"}, "left < right"),
        ("xlsx_formulas", "a.xlsx", {"sheet": "S", "range": "9Z", "pattern": "x"}, "args.range"),
    ],
)
def test_a_bad_check_is_refused_with_its_name_and_field(name, deliverable, args, message):
    with pytest.raises(BadTaskData) as caught:
        validate_check(Check(name=name, deliverable=deliverable, args=args))
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_dates_and_numbers_that_yaml_reads_are_understood(run):
    import yaml

    args = yaml.safe_load("{values: {'days[0]': 2026-01-01, days: [2026-01-01, 2026-01-02]}}")
    assert run("json_values", "out.json", args).score == 10
    args = yaml.safe_load("{columns: [2024], min_rows: 0}")
    validate_check(Check(name="table_shape", deliverable="a.csv", args=args))


def test_a_missing_file_scores_0_and_says_what_was_there(run):
    leaf = run("csv_rows", "sales.csv", {"min": 1}, {"out.json": JsonView(value=1)})
    assert leaf.score == 0
    assert leaf.reason == "sales.csv was not delivered (delivered: out.json)"


def test_an_unreadable_file_scores_0_with_its_reason(run):
    leaf = run(
        "csv_rows", "sales.csv", {"min": 1}, {"sales.csv": UnreadableView(reason="it is empty")}
    )
    assert (leaf.score, leaf.reason) == (0, "the file cannot be read: it is empty")


def test_a_view_of_another_kind_scores_0(run):
    leaf = run("csv_rows", "sales.csv", {"min": 1}, {"sales.csv": JsonView(value=[])})
    assert (leaf.score, leaf.reason) == (0, "the file is json, which csv_rows cannot look at")


def test_a_fault_in_a_check_leaves_the_leaf_unscored(run, monkeypatch, caplog):
    def broken(view, args):
        raise ZeroDivisionError("our own bug")

    spec = check_library()["csv_rows"]
    faulty = CheckSpec(spec.name, spec.args, spec.looks_at, broken)
    monkeypatch.setattr("stages.score.library.check_library", lambda: {"csv_rows": faulty})
    leaf = run("csv_rows", "data.csv", {"min": 1})
    assert leaf.score is None
    assert leaf.reason == "internal error in check csv_rows: ZeroDivisionError"
    assert "our own bug" in caplog.text


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_a_check_that_what_was_delivered_breaks_scores_0(run, monkeypatch, error):
    def broken(view, args):
        raise error

    spec = check_library()["csv_rows"]
    breaking = CheckSpec(spec.name, spec.args, spec.looks_at, broken)
    monkeypatch.setattr("stages.score.library.check_library", lambda: {"csv_rows": breaking})
    leaf = run("csv_rows", "data.csv", {"min": 1})
    assert (leaf.score, leaf.reason) == (0, f"the check broke off: {error.__name__}")
