"""Serper and Tavily, played by a server on this machine."""

import asyncio

import pytest

from environments.models.retry import RetryPolicy
from environments.search.web import Serper, Tavily
from taskdata.errors import ToolUnavailable

KEY = "search-canary-0123456789"
FAST = RetryPolicy(attempts=3, first_wait_seconds=0.01)


def search(provider, query: str = "CN Tower height", count: int = 3):
    async def run():
        try:
            return await provider.search(query, count)
        finally:
            await provider.close()

    return asyncio.run(run())


@pytest.fixture
def serper(wire) -> Serper:
    return Serper(KEY, f"{wire.url}/search", FAST)


@pytest.fixture
def tavily(wire) -> Tavily:
    return Tavily(KEY, f"{wire.url}/search", FAST)


def test_serper_gives_the_direct_answer_first(wire, serper):
    organic = [
        {"title": f"Page {n}", "link": f"https://example.com/{n}", "snippet": "…", "position": n}
        for n in range(1, 6)
    ]
    box = {"title": "CN Tower", "link": "https://example.com/cn", "answer": "553.3 m"}
    wire.then(wire.answers({"answerBox": box, "organic": organic, "credits": 1}))

    hits = search(serper)

    assert [(h.title, h.url) for h in hits] == [
        ("CN Tower", "https://example.com/cn"),
        ("Page 1", "https://example.com/1"),
        ("Page 2", "https://example.com/2"),
    ]
    assert hits[0].snippet == "553.3 m"
    (seen,) = wire.seen
    assert seen.headers["X-API-KEY"] == KEY
    assert seen.body == {"q": "CN Tower height", "num": 3}


def test_tavily_gives_its_results(wire, tavily):
    result = {
        "title": "CN Tower",
        "url": "https://example.com/cn",
        "content": "553.3 m",
        "score": 1,
    }
    wire.then(wire.answers({"query": "…", "results": [result]}))

    (hit,) = search(tavily)

    assert (hit.title, hit.url, hit.snippet) == ("CN Tower", "https://example.com/cn", "553.3 m")
    (seen,) = wire.seen
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert seen.body == {"query": "CN Tower height", "max_results": 3}


def test_nothing_found_is_no_fault(wire, serper):
    wire.then(wire.answers({"organic": []}))
    assert search(serper) == ()


def test_an_outage_is_tried_again_and_then_it_is_not_the_agents_fault(wire, serper):
    wire.then(wire.fails(503), wire.fails(429, retry_after=0.01), wire.answers({"organic": []}))
    assert search(serper) == ()
    wire.respond = lambda seen: wire.fails(500)
    with pytest.raises(ToolUnavailable, match=r"search: serper: HTTP 500.*after 3 attempts"):
        search(serper)


@pytest.mark.parametrize("behaviour", ["sends", "answers", "drops"])
def test_garbage_is_tried_again(wire, tavily, behaviour):
    play = {
        "sends": wire.sends(b"<html>busy"),
        "answers": wire.answers({"results": "none"}),
        "drops": wire.drops(),
    }[behaviour]
    wire.then(play, wire.answers({"results": []}))
    assert search(tavily) == ()


def test_an_endless_answer_is_cut(wire, tavily):
    wire.respond = lambda seen: wire.sends(b'{"results": "' + b"x" * 3_000_000 + b'"}')
    with pytest.raises(ToolUnavailable, match="more than 2000000 bytes"):
        search(tavily)


def test_the_key_is_in_no_message(wire, serper):
    wire.then(wire.fails(403, f"bad key {KEY}"))
    with pytest.raises(ToolUnavailable) as caught:
        search(serper)
    assert KEY not in str(caught.value)
    assert "the API key is missing, wrong or lacks access" in str(caught.value)
    assert KEY not in repr(serper)


def test_a_redirect_does_not_get_the_key(wire, serper):
    async def elsewhere(seen, request):
        from aiohttp import web

        return web.Response(status=302, headers={"location": f"{wire.url}/v1/messages"})

    wire.then(elsewhere)
    with pytest.raises(ToolUnavailable):
        search(serper)
    assert [seen.path for seen in wire.seen] == ["/search"]
