"""manage_context over a conversation of ten turns."""

import asyncio
from typing import Any

import pytest

from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.turns import TurnSize
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import ToolCall


class TenTurns:
    """A context that remembers what was dropped from it."""

    window_tokens: int | None = 8000

    def __init__(self, count: int = 10) -> None:
        self.left = [TurnSize(number, 100) for number in range(1, count + 1)]

    def turns(self) -> list[TurnSize]:
        return self.left

    def input_tokens(self) -> int | None:
        return 40 * len(self.left)

    def turns_left(self) -> int:
        return 7

    def drop(self, numbers) -> int:
        before = len(self.left)
        self.left = [turn for turn in self.left if turn.number not in numbers]
        return 100 * (before - len(self.left))


def manage(context: TenTurns | None, **arguments: Any) -> ToolResult:
    box = Toolbox(["manage_context"], sandbox=None)  # type: ignore[arg-type]
    if context is not None:
        box.attach(context)
    call = ToolCall(id="1", tool="manage_context", arguments=arguments)
    return asyncio.run(box.call(call))


def test_the_status_names_turns_tokens_and_what_is_left():
    text = manage(TenTurns()).text
    assert text.startswith(
        "In your context: the task and 10 turns, about 400 tokens of the 8,000 that fit. "
        "Still allowed: 7 turns."
    )
    assert text.count("- turn ") == 10
    assert "- turn 3: 100 characters" in text


def test_of_many_turns_the_oldest_are_summed_up():
    text = manage(TenTurns(50)).text
    assert "- turns 1 to 20: 2,000 characters together\n- turn 21:" in text


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ({"action": "keep_last", "count": 3}, [8, 9, 10]),
        ({"action": "drop_first", "count": 3}, [4, 5, 6, 7, 8, 9, 10]),
        ({"action": "drop_range", "first": 2, "last": 9}, [1, 10]),
        ({"action": "drop_first", "count": 99}, [10]),
        ({"action": "drop_range", "first": 1, "last": 99}, [10]),
    ],
)
def test_turns_are_dropped_but_never_the_current_one(arguments, left):
    context = TenTurns()
    result = manage(context, **arguments)
    assert [turn.number for turn in context.left] == left
    assert result.error is None
    assert f"Dropped {10 - len(left)} turns with {100 * (10 - len(left))} characters" in result.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "keep_last"}, "needs `count`"),
        ({"action": "drop_range", "first": 2}, "needs `first` and `last`"),
        ({"action": "drop_range", "first": 5, "last": 2}, "No turn fits"),
        ({"action": "keep_last", "count": 10}, "No turn fits"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    context = TenTurns()
    result = manage(context, **arguments)
    assert (result.error, len(context.left)) == (ToolErrorKind.REFUSED, 10)
    assert said in result.text


def test_an_agent_that_keeps_its_context_elsewhere_is_told():
    result = manage(None, action="status")
    assert result.error is ToolErrorKind.REFUSED
    assert "not kept here" in result.text
