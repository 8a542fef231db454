"""What our own expectations say of data, and how a rule about parts of a row is told."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from quality.gates import Suite, hold, quarantine_findings
from quality.suites.bank import bank_suite
from quality.suites.candidates import candidates_suite
from quality.suites.checkpoint_trees import checkpoint_trees_suite
from quality.suites.expectations import (
    ROW,
    among,
    between,
    not_above,
    of_each,
    one_pair_of,
    public_hosts,
    quarantining,
    rule,
    same,
    shown_of,
    unique_together,
)
from quality.suites.files import files_suite
from quality.suites.leaf_scores import leaf_scores_suite
from quality.suites.seeds import seeds_suite
from quality.suites.tasks import TaskRules, tasks_suite
from quality.suites.trial_scores import trial_scores_suite

BOOKS = Suite(
    name="books",
    id_column="title",
    columns=("title", "tool", "tools", "host", "read_on", "today", "left", "right"),
    parts={"pages": ("number", "words")},
    shown={"host": lambda host: f"{len(host)} characters"},
    expectations=lambda: quarantining(
        [
            rule("foreign_tool", among("tool", "tools", "the tool is one of its own"), "tool"),
            public_hosts("host", "the host is public"),
            rule("future", not_above("read_on", "today", "it was read by now"), "read_on"),
            rule("unequal", same("left", "right", "both sides are the same")),
            rule("mixed", one_pair_of("left", "right", "it is a pair", [("a", "a"), ("b", "c")])),
            *of_each(
                "pages",
                rule("empty_pages", between("words", "a page has words", 1), shows="number"),
                rule("twice", unique_together([ROW, "number"], "a page is there once")),
            ),
        ]
    ),
)


def book(title: str, pages: tuple[tuple[int, float], ...] = ((1, 9),), **fields: Any) -> dict:
    values = {
        "tool": "pen",
        "tools": ("pen", "ink"),
        "host": "example.org",
        "read_on": "2026-02-28",
        "today": "2026-03-01",
        "left": "a",
        "right": "a",
        "pages": [{"number": number, "words": words} for number, words in pages],
    }
    return values | {"title": title} | fields


def findings(*rows: dict) -> Mapping[str, list[tuple[str, str | None]]]:
    _, validation = hold(BOOKS, [book("sound"), *rows], "r1")
    found = quarantine_findings(validation)
    return {title: [(one.rule, one.value) for one in ones] for title, ones in found.items()}


def test_a_value_is_among_those_that_its_own_row_lists():
    assert findings(book("a", tool="ink"), book("b", tool="glue"), book("c", tools=("glue",))) == {
        "b": [("foreign_tool", "glue")],
        "c": [("foreign_tool", "pen")],
    }
    assert findings(book("unknown", tool=None), book("servers", tools=None)) == {}


def test_an_address_inside_some_network_is_no_public_host_and_is_shown_as_the_suite_says():
    rows = (book("a", host="169.254.169.254"), book("b", host="[::1]:80"), book("c", host=None))

    assert findings(*rows) == {"a": [("host", "15 characters")], "b": [("host", "8 characters")]}


def test_two_columns_of_a_row_are_compared():
    rows = (
        book("later", read_on="2026-03-02"),
        book("today", read_on="2026-03-01"),
        book("unread", read_on=None),
        book("crooked", left="b", right="c"),
        book("odd", left="c", right="c"),
    )

    assert findings(*rows) == {
        "later": [("future", "2026-03-02")],
        "crooked": [("unequal", "b, c")],
        "odd": [("mixed", "c, c")],
    }


def test_parts_of_one_row_are_told_together_and_rows_are_kept_apart():
    rows = (
        book("blank", ((1, 0), (2, 5), (3, 0))),
        book("double", ((7, 1), (7, 1))),
        book("like another", ((1, 9),)),
    )

    assert findings(*rows) == {"blank": [("empty_pages", "1, 3")], "double": [("twice", "7")]}


def test_very_many_parts_are_told_by_some():
    result, validation = hold(
        BOOKS, [book("sound"), book("x", tuple((i, 0) for i in range(50)))], "r"
    )

    (broken,) = (r for r in validation["results"] if not r["success"])
    assert broken["result"]["unexpected_index_list"][0]["number"].endswith("19 and 30 more")
    assert broken["result"]["unexpected_count"] == 50
    assert result.failures[0].unexpected_count == 1


def test_a_rule_about_parts_can_be_overridden_by_its_name():
    rows = [book("sound"), book("blank", ((1, 0),)), book("bare", ((1, 0),))]

    result, _ = hold(BOOKS, rows, "r1", {"blank": {"empty_pages"}})

    assert result.quarantined == ("bare",)


def test_nan_in_a_part_is_a_failure_that_names_the_column():
    result, _ = hold(BOOKS, [book("a", ((1, float("nan")),))], "r1")

    (failure,) = result.failures
    assert failure.rule == "nan_columns"
    assert failure.expectation.endswith("(found: pages.words)")
    assert failure.rows == ("a",)


def test_values_that_no_rule_shows_are_not_in_the_validation_result():
    _, validation = hold(BOOKS, [book("a", host="169.254.169.254", pages=((1, 0),))], "r1")

    kept = json.dumps(validation)
    assert "169.254" not in kept
    assert '"number": 1' in kept


SUITES = (
    bank_suite(),
    candidates_suite(TaskRules(), ["pen"], ["text"]),
    checkpoint_trees_suite(),
    files_suite(),
    leaf_scores_suite(),
    seeds_suite(),
    tasks_suite(TaskRules(needs_check=True), ["pen"], ["text"]),
    trial_scores_suite(),
)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_suite_expects_something_of_its_data_and_of_no_column_of_faults(suite: Suite):
    """A rule that is computed first leaves nothing to expect but that its column is null."""
    made = [e.configuration.to_json_dict() for e in suite.expectations()]

    assert {c["type"] for c in made}.isdisjoint({"expect_column_values_to_be_null"})
    assert all(c["description"] and shown_of(c) for c in made)
    assert {c["meta"]["part"] for c in made if "part" in (c["meta"] or {})} == set(suite.parts)


def test_a_part_that_a_row_does_not_list_is_no_row_of_the_suite():
    bare = book("a")
    del bare["pages"]

    with pytest.raises(KeyError, match="pages"):
        hold(BOOKS, [bare], "r1")
