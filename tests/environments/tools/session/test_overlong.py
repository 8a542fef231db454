"""Results that are too long: cut, kept, read in pages and searched."""

import asyncio
from typing import Any

import pytest

from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.definition import MAX_TEXT_CHARS
from environments.toolkit.kept_results import PAGE_CHARS, KeptResults, page_of, pages_in
from environments.tools.session.overlong import OVERLONG, cut_overlong
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall

LONG = "".join(f"line {n:05}: nothing here\n" for n in range(9_000)) + "the needle is here\n"
LAST = pages_in(LONG)
READ: tuple[str, dict[str, Any]] = ("read_log", {})


class Log:
    """A tool that always says the same."""

    spec = ToolSpec(
        name="read_log", description="Read it.", category=Capability.PERCEPTION, parameters={}
    )

    async def run(self, arguments: dict[str, Any], sandbox: object) -> ToolResult:
        return ToolResult(text=LONG)


def new_toolbox() -> Toolbox:
    return Toolbox(["Calculator"], sandbox=None, more=[Log()])  # type: ignore[arg-type]


def use(*calls: tuple[str, dict[str, Any]]) -> list[ToolResult]:
    async def trial() -> list[ToolResult]:
        box = new_toolbox()
        return [
            box.shown(await box.call(ToolCall(id=str(n), tool=tool, arguments=arguments)))
            for n, (tool, arguments) in enumerate(calls)
        ]

    return asyncio.run(trial())


def test_a_long_result_is_cut_and_read_on_in_pages_by_any_task():
    first, second, last, again = use(
        READ, (OVERLONG, {"result": 1, "page": 10}), (OVERLONG, {"result": 1, "page": LAST}), READ
    )
    assert len(first.text) == MAX_TEXT_CHARS
    assert first.text.startswith(LONG[:90_000])
    assert f"the beginning of result 1, which has {len(LONG)} characters" in first.text
    assert f'{OVERLONG} {{"result": 1, "page": 10}}' in first.text
    assert second.text.startswith(LONG[9 * PAGE_CHARS : 10 * PAGE_CHARS])
    assert "go on with page=11" in second.text
    assert "the needle is here" in last.text
    assert last.text.endswith("that is the end]")
    assert "of result 2," in again.text


def test_the_tool_is_offered_once_there_is_something_to_read():
    async def trial() -> tuple[list[str], ToolResult, list[str]]:
        box = new_toolbox()
        before = [spec.name for spec in box.specs]
        early = await box.call(ToolCall(id="1", tool=OVERLONG, arguments={"result": 1}))
        result = await box.call(ToolCall(id="2", tool="read_log", arguments={}))
        assert result.text == LONG, "what a tool gave is whole, and cut where it is shown"
        box.shown(result)
        return before, early, [spec.name for spec in box.specs]

    before, early, after = asyncio.run(trial())
    assert early.error is ToolErrorKind.UNKNOWN_TOOL
    assert after == [*before, OVERLONG]


def test_words_and_patterns_are_found_with_their_pages():
    _, words, pattern, none = use(
        READ,
        (OVERLONG, {"result": 1, "search": "NEEDLE"}),
        (OVERLONG, {"result": 1, "pattern": r"^line 0(4000|4001):"}),
        (OVERLONG, {"result": 1, "search": "haystack"}),
    )
    assert words.text.startswith(f"- page {LAST}: …")
    assert "the needle is here" in words.text
    lines = pattern.text.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["- page 11", "- page 11"]
    assert "line 04000: nothing" in lines[0]
    assert none.text == "'haystack' does not occur in it."


def test_words_are_taken_as_they_are_whatever_a_pattern_would_make_of_them(monkeypatch):
    odd = r"Costs (2026): 5+ \\E[x] für ÄRZTE."
    monkeypatch.setattr(f"{__name__}.LONG", LONG + odd)
    _, found, none = use(
        READ,
        (OVERLONG, {"result": 1, "search": odd.swapcase()}),
        (OVERLONG, {"result": 1, "search": "(.*)"}),
    )
    assert found.text.startswith(f"- page {LAST}: …")
    assert none.text == "'(.*)' does not occur in it."


def test_other_trials_go_on_while_one_searches(monkeypatch):
    monkeypatch.setattr(f"{__name__}.LONG", "a" * 1_000_000)
    nearly_everywhere = {"result": 1, "search": "a" * 199 + "b"}

    async def trial() -> tuple[ToolResult, int]:
        box, turns_of_others = new_toolbox(), 0
        box.shown(await box.call(ToolCall(id="1", tool="read_log", arguments={})))
        call = ToolCall(id="2", tool=OVERLONG, arguments=nearly_everywhere)
        search = asyncio.create_task(box.call(call))
        while not search.done():
            await asyncio.sleep(0)
            turns_of_others += 1
        return search.result(), turns_of_others

    found, turns_of_others = asyncio.run(trial())
    assert found.text.endswith("does not occur in it.")
    # A search that held the event loop would leave the others one turn.
    assert turns_of_others > 1


def test_many_places_are_listed_from_the_page_asked_for():
    _, places, further = use(
        READ,
        (OVERLONG, {"result": 1, "pattern": "nothing"}),
        (OVERLONG, {"result": 1, "search": "nothing", "page": 5}),
    )
    assert places.text.count("- page 1:") == 20
    assert places.text.endswith("go on with page=1, or search for more words)")
    assert further.text.startswith("- page 5: …")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"result": 1, "page": LAST + 1}, f"has {LAST} pages"),
        ({"result": 2}, "there are: 1."),
        ({"result": 1, "search": "a", "pattern": "b"}, "not both"),
        ({"result": 1, "pattern": "("}, "cannot be used: Invalid regular expression"),
        ({"result": 1, "pattern": "(?=look)"}, "cannot be used"),
        ({"result": 1, "pattern": "x*"}, "matches no text at all"),
    ],
)
def test_what_cannot_be_found_is_refused(arguments, said):
    _, result = use(READ, (OVERLONG, arguments))
    assert result.error is ToolErrorKind.REFUSED
    assert said in result.text


def test_results_up_to_the_limit_are_left_alone_and_pages_cover_everything():
    kept = KeptResults()
    short = ToolResult(text="x" * MAX_TEXT_CHARS)
    assert cut_overlong(short, kept) is short
    text = "y" * (MAX_TEXT_CHARS + 1)
    assert len(cut_overlong(ToolResult(text=text), kept).text) == MAX_TEXT_CHARS
    assert "".join(page_of(text, n) for n in range(1, pages_in(text) + 1)) == text


@pytest.mark.parametrize("chars", [600, 1_200, 50_000])
def test_where_less_is_shown_pages_are_shorter_and_leave_nothing_out(chars):
    async def trial() -> list[str]:
        box = new_toolbox()
        box.show(chars)
        first = box.shown(await box.call(ToolCall(id="0", tool="read_log", arguments={})))
        page = int(first.text.rpartition('"page": ')[2].partition("}")[0])
        texts = [first.text]
        while not texts[-1].endswith("that is the end]"):
            arguments = {"result": 1, "page": page}
            call = ToolCall(id=str(page), tool=OVERLONG, arguments=arguments)
            result = box.shown(await box.call(call))
            texts.append(result.text)
            page += 1
        return texts

    first, *pages = asyncio.run(trial())
    assert all(len(text) <= chars for text in (first, *pages))
    rest = "".join(text.rpartition("\n[page ")[0] for text in pages)
    shown = first.rpartition("\n[cut: ")[0]
    assert LONG.endswith(rest)
    assert LONG.startswith(shown)
    assert len(shown) + len(rest) >= len(LONG)


def test_old_results_are_given_up_when_they_get_too_many():
    kept = KeptResults()
    assert [kept.keep("z" * 2_000_000) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert kept.numbers == (4, 5)
    assert kept.find(3) is None
