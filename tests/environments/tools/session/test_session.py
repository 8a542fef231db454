"""Tools about the trial itself: waiting, looking back."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.host_tool import HostToolContext
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import MessageEvent, ModelEvent, ToolCall, ToolEvent


class NoSandbox:
    """A sandbox that must not be used."""


def use(
    names: list[str], *calls: tuple[str, dict[str, Any]], context: HostToolContext | None = None
):
    async def trial() -> list[ToolResult]:
        box = Toolbox(names, NoSandbox(), context)
        return [
            await box.call(ToolCall(id=str(n), tool=tool, arguments=arguments))
            for n, (tool, arguments) in enumerate(calls)
        ]

    return asyncio.run(trial())


def test_sleep_waits_and_not_for_long():
    waited, too_long = use(["sleep"], ("sleep", {"seconds": 0.2}), ("sleep", {"seconds": 9999}))
    assert (waited.error, waited.text) == (None, "Waited 0.2 s.")
    assert too_long.error is ToolErrorKind.BAD_ARGUMENTS


@pytest.fixture
def context() -> HostToolContext:
    call = ToolCall(id="1", tool="ReadCSV", arguments={"path": "input/a.csv"}, raw='{"path": …}')
    at = datetime(2026, 5, 1, tzinfo=UTC)
    events = [
        MessageEvent(role="user", text="Count the Herons."),
        ModelEvent(text="I read it.", tool_calls=(call,), model="m", started_at=at, seconds=1),
        ToolEvent(call=call, text="heron,4\n" + "gull,9\n" * 100, started_at=at, seconds=1),
    ]
    return HostToolContext(events=lambda: events)


def test_what_has_happened_can_be_looked_up(context):
    listed, found, full, gone, before = use(
        ["history"],
        ("history", {}),
        ("history", {"search": "HERON"}),
        ("history", {"event": 3}),
        ("history", {"event": 4}),
        ("history", {"before": 2}),
        context=context,
    )
    assert listed.text.splitlines()[:2] == [
        "1. user: Count the Herons.",
        '2. you: I read it. calls ReadCSV {"path": …}',
    ]
    assert listed.text.endswith("…")
    assert [line[:2] for line in found.text.splitlines()] == ["1.", "3."]
    assert full.text.count("gull,9") == 100
    assert gone.text == "There is no event 4: so far there are 3."
    assert before.text == "1. user: Count the Herons."


def test_a_long_history_is_listed_from_its_end():
    events = [MessageEvent(role="user", text=f"note {n}") for n in range(1, 51)]
    (result,) = use(["history"], ("history", {}), context=HostToolContext(events=lambda: events))
    lines = result.text.splitlines()
    assert lines[0] == "(50 events fit; for earlier ones, before=31)"
    assert (lines[1], lines[-1]) == ("31. user: note 31", "50. user: note 50")
