"""Tables fit the terminal that they are written to, and lose nothing."""

import io
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from flows.cli import tables

AGENTS = (
    {"agent": "react:local/smollm2-135m", "root score": "0.00 (0.00 to 0.00)", "errors": "0"},
    {"agent": "function_calling:anthropic/claude-sonnet-4-5", "root score": "-", "errors": "10"},
)
CONTROLS = ({"agent": "reference", "root score": "10.00 (10.00 to 10.00)", "errors": "0"},)
LEAVES = (
    {"leaf": "totals", "score": "1.5", "reason": "The total of the third sheet is off. " * 8},
    {"leaf": "每月合计", "score": "-", "reason": "x" * 90},
)
MANY = tuple({f"column number {n}": f"value {n}" for n in range(12)} for _ in range(2))


def written(rows, width, apart=()):
    screen = Console(file=io.StringIO(), width=width)
    for part in tables.table(rows, apart, width):
        screen.print(part)
    return screen.file.getvalue()


def letters(text):
    """The text without what folding changes: spaces, line ends and rules."""
    return "".join(text.replace("─", "").split())


@pytest.mark.parametrize("width", [20, 40, 80, 132, 300])
@pytest.mark.parametrize("rows", [AGENTS, LEAVES, MANY])
def test_no_line_is_wider_than_the_terminal_and_no_letter_is_lost(rows, width):
    shown = written(rows, width)
    assert max(map(cell_len, shown.splitlines())) <= width
    for row in rows:
        for cell in row.values():
            assert not Counter(letters(cell)) - Counter(letters(shown))


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("rows", [AGENTS, LEAVES, MANY])
def test_no_heading_is_broken_within_a_word(rows, width):
    words = written(rows, width).split()
    assert all(word in words for name in rows[0] for word in name.split())


def test_columns_that_do_not_fit_side_by_side_become_blocks():
    assert written(MANY, 200).count("column") == len(MANY[0])
    assert written(MANY, 60).count("column") == len(MANY) * len(MANY[0])


def test_what_stands_apart_comes_below_the_rest():
    *_, before, control = written(AGENTS, 80, CONTROLS).splitlines()
    assert before.strip() == ""
    assert control.startswith("reference")


def test_numbers_end_at_the_right_and_names_begin_at_the_left():
    first, second = written(AGENTS, 80).splitlines()[2:4]
    assert (first[-1], second[-2:]) == ("0", "10")
    assert second.startswith("function_calling")


def test_sentences_fold_before_names_and_numbers_do():
    lines = written(LEAVES, 60).splitlines()
    assert any(line.startswith("totals") and "1.5" in line for line in lines)
    assert sum("The total" in line for line in lines) > 1


def test_brackets_in_a_cell_are_no_markup():
    assert "[bold]x[/bold]" in written(({"name": "[bold]x[/bold]"},), 40)


def test_optional_columns_go_in_their_order_until_the_rest_fits():
    names = tuple(MANY[0])
    assert tables.fitting(MANY, names[:3], 200) == ()
    assert tables.fitting(MANY, (names[4], names[2], names[7], names[8]), 80) == (
        names[4],
        names[2],
    )
    assert tables.fitting(MANY, names[1:3], 20) == names[1:3]
