"""Recording and replaying searches."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from environments.models.retry import RetryPolicy
from environments.search.cassette import Recorded
from environments.search.web import Tavily
from taskdata.errors import Misuse, ToolUnavailable


def search(provider, query: str, count: int = 2):
    async def run():
        try:
            return await provider.search(query, count)
        finally:
            await provider.close()

    return asyncio.run(run())


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "nights" / "search.jsonl"


@pytest.fixture
def recorder(wire, cassette):
    """Makes a recording search over a server whose every answer is another one."""

    def answer(seen):
        title = f"answer {len(wire.seen)} to {seen.body['query']}"
        return wire.answers(
            {"results": [{"title": title, "url": "https://a.example", "content": ""}]}
        )

    wire.respond = answer

    def make() -> Recorded:
        asked = Tavily("key", f"{wire.url}/search", RetryPolicy(attempts=1))
        return Recorded("tavily", cassette, "record", asked)

    return make


def test_what_was_recorded_is_replayed_without_asking(wire, recorder, cassette):
    first = search(recorder(), "tower")
    again = search(Recorded("tavily", cassette, "replay"), "  tower ")
    assert (first, len(wire.seen)) == (again, 1)
    assert first[0].title == "answer 1 to tower"


def test_recording_goes_on_where_it_stopped(wire, recorder):
    first = search(recorder(), "tower")
    assert search(recorder(), "tower") == first
    search(recorder(), "bridge")
    assert len(wire.seen) == 2


def test_another_number_of_results_is_another_search(wire, recorder):
    search(recorder(), "tower", 2)
    search(recorder(), "tower", 3)
    assert [seen.body["max_results"] for seen in wire.seen] == [2, 3]


def test_a_miss_fails_visibly(recorder, cassette):
    search(recorder(), "tower")
    replayed = Recorded("tavily", cassette, "replay")
    with pytest.raises(ToolUnavailable, match=r"no recording of 'bridge' \(tavily, 2 results\)"):
        search(replayed, "bridge")
    with pytest.raises(ToolUnavailable, match=r"\(serper, 2 results\)"):
        search(Recorded("serper", cassette, "replay"), "tower")


def test_a_failed_search_is_not_recorded(wire, recorder, cassette):
    wire.then(wire.fails(500))
    with pytest.raises(ToolUnavailable):
        search(recorder(), "tower")
    assert not cassette.exists()


def test_several_record_at_once_and_see_each_others(wire, recorder, cassette):
    makers = [recorder() for _ in range(4)]

    def ask_all(maker: Recorded) -> None:
        for number in range(6):
            search(maker, f"query {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask_all, makers))
    lines = [json.loads(line) for line in cassette.read_text().splitlines()]
    assert {line["query"] for line in lines} == {f"query {n}" for n in range(6)}
    late = makers[0]
    known = search(late, "query 5")
    assert known == search(Recorded("tavily", cassette, "replay"), "query 5")


def test_a_line_whose_writer_was_killed_is_passed_over(recorder, cassette):
    search(recorder(), "tower")
    with cassette.open("a") as file:
        file.write('{"provider": "tavily", "que')
    assert search(Recorded("tavily", cassette, "replay"), "tower")
    search(recorder(), "bridge")
    assert search(Recorded("tavily", cassette, "replay"), "bridge")
    assert len(cassette.read_text().splitlines()) == 2


def test_a_cassette_that_is_none_is_named(tmp_path, cassette):
    with pytest.raises(Misuse, match="there is no such file"):
        Recorded("tavily", cassette, "replay")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"query": 1}\n')
    with pytest.raises(Misuse, match=r"wrong\.jsonl: a line is no recorded search"):
        Recorded("tavily", wrong, "replay")
    with pytest.raises(Misuse, match="needs a search provider"):
        Recorded("tavily", cassette, "record")
