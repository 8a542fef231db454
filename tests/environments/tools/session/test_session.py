"""Tools about the trial itself: waiting, paging through long results, looking back."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from environments.ports import Completed
from environments.tools.host.definition import Desk
from environments.tools.session.kept import PAGE_CHARS, KeptResults, page_of, pages_in
from environments.tools.session.overlong import first_page
from environments.tools.toolbox import Toolbox
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import MessageEvent, ModelEvent, ToolCall, ToolEvent

OVERLONG = "handle_overlong_tool_outputs"
LONG = "".join(f"line {number}: nothing\n" for number in range(3_000)) + "the needle is here\n"


class TalkativeSandbox:
    """A sandbox in which every tool answers at length."""

    def python(self) -> list[str]:
        return ["python3"]

    async def run(self, argv, *, stdin=b"", wall_seconds=None) -> Completed:
        return Completed(0, ToolResult(text=LONG).model_dump_json().encode(), b"", 0.1)


def use(names: list[str], *calls: tuple[str, dict[str, Any]], desk: Desk | None = None):
    async def trial() -> list[ToolResult]:
        box = Toolbox(names, TalkativeSandbox(), desk)
        return [
            await box.call(ToolCall(id=str(n), tool=tool, arguments=arguments))
            for n, (tool, arguments) in enumerate(calls)
        ]

    return asyncio.run(trial())


READ = ("read_file", {"path": "input/log.txt"})


def test_a_long_result_comes_in_pages_where_the_task_offers_them():
    first, second, last, places, again = use(
        [OVERLONG],
        READ,
        (OVERLONG, {"result": 1, "page": 2}),
        (OVERLONG, {"result": 1, "page": 6}),
        (OVERLONG, {"result": 1, "search": "NEEDLE"}),
        READ,
    )
    assert first.text.startswith(LONG[:PAGE_CHARS])
    assert f"[page 1 of 6 of result 1, which has {len(LONG)} characters" in first.text
    assert second.text.startswith(LONG[PAGE_CHARS : 2 * PAGE_CHARS])
    assert "go on with page=3" in second.text
    assert "the needle is here" in last.text
    assert last.text.endswith("that is the end]")
    assert places.text.startswith("- page 6: …")
    assert "the needle is here" in places.text
    assert "of result 2," in again.text


def test_without_the_tool_results_are_shown_whole():
    (result,) = use([], READ)
    assert result.text == LONG


def test_pages_that_do_not_exist_are_refused():
    results = use(
        [OVERLONG],
        (OVERLONG, {"result": 1}),
        READ,
        (OVERLONG, {"result": 1, "page": 7}),
        (OVERLONG, {"result": 2}),
        (OVERLONG, {"result": 1, "search": "haystack"}),
    )
    assert results[0].text == "There is no long result 1; there are: none."
    assert [r.error for r in results[2:4]] == [ToolErrorKind.REFUSED] * 2
    assert "has 6 pages" in results[2].text
    assert results[3].text.endswith("there are: 1.")
    assert results[4].text == "'haystack' does not occur in it."


def test_many_places_are_counted_not_listed():
    (_, places) = use([OVERLONG], READ, (OVERLONG, {"result": 1, "search": "nothing"}))
    assert places.text.count("- page ") == 20
    assert places.text.endswith("search for more words)")


def test_short_results_are_left_alone_and_pages_cover_everything():
    kept = KeptResults()
    short = ToolResult(text="x" * 2 * PAGE_CHARS)
    assert first_page(short, kept) is short
    text = "y" * (2 * PAGE_CHARS + 1)
    assert first_page(ToolResult(text=text), kept).text.startswith("y" * PAGE_CHARS)
    assert "".join(page_of(text, n) for n in range(1, pages_in(text) + 1)) == text


def test_old_results_are_given_up_when_they_get_too_many():
    kept = KeptResults()
    numbers = [kept.keep("z" * 6_000_000) for _ in range(5)]
    assert numbers == [1, 2, 3, 4, 5]
    assert kept.numbers == (3, 4, 5)


def test_sleep_waits_and_not_for_long():
    waited, too_long = use(["sleep"], ("sleep", {"seconds": 0.2}), ("sleep", {"seconds": 9999}))
    assert (waited.error, waited.text) == (None, "Waited 0.2 s.")
    assert too_long.error is ToolErrorKind.BAD_ARGUMENTS


@pytest.fixture
def desk() -> Desk:
    call = ToolCall(id="1", tool="ReadCSV", arguments={"path": "input/a.csv"}, raw='{"path": …}')
    at = datetime(2026, 5, 1, tzinfo=UTC)
    events = [
        MessageEvent(role="user", text="Count the Herons."),
        ModelEvent(text="I read it.", tool_calls=(call,), model="m", started_at=at, seconds=1),
        ToolEvent(call=call, text="heron,4\n" + "gull,9\n" * 100, started_at=at, seconds=1),
    ]
    return Desk(events=lambda: events)


def test_what_has_happened_can_be_looked_up(desk):
    listed, found, full, gone, before = use(
        ["history"],
        ("history", {}),
        ("history", {"search": "HERON"}),
        ("history", {"event": 3}),
        ("history", {"event": 4}),
        ("history", {"before": 2}),
        desk=desk,
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
    (result,) = use(["history"], ("history", {}), desk=Desk(events=lambda: events))
    lines = result.text.splitlines()
    assert lines[0] == "(50 events fit; for earlier ones, before=31)"
    assert (lines[1], lines[-1]) == ("31. user: note 31", "50. user: note 50")
