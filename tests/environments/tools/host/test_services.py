"""Opening the configured services; what tools do without them."""

import asyncio
from pathlib import Path

import pytest

from environments.models.registry import ModelClients
from environments.ports import Media, Message, ModelRequest
from environments.tools.host.definition import Desk
from environments.tools.host.services import ServiceLimits, open_services
from environments.tools.toolbox import Toolbox
from taskdata.errors import ToolUnavailable
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.tool_backends import ToolBackends
from taskdata.schema.transcript import ToolCall


@pytest.fixture
def corpus(tmp_path: Path) -> ToolBackends:
    (tmp_path / "tower.md").write_text("# CN Tower\n\nIt is 553.3 m tall.")
    return ToolBackends(search="corpus", search_corpus=str(tmp_path))


class NoSandbox:
    """A sandbox that must not be used."""


def search(backends: ToolBackends, store, *queries: str, limits=None) -> list[ToolResult]:
    async def trial() -> list[ToolResult]:
        async with ModelClients() as clients, open_services(backends, clients, store) as services:
            desk = Desk(services)
            if limits:
                from dataclasses import replace

                desk = Desk(replace(services, limits=limits))
            box = Toolbox(["GoogleSearch", "web_search"], NoSandbox(), desk)
            calls = [
                ToolCall(id=str(n), tool=tool, arguments={"query": query})
                for n, query in enumerate(queries)
                for tool in ("GoogleSearch", "web_search")
            ]
            return [await box.call(call) for call in calls]

    return asyncio.run(trial())


def test_both_names_share_the_configured_search(corpus, store):
    google, web = search(corpus, store, "tower")
    assert google == web
    assert google.text == (
        "1 result, best first:\n1. CN Tower\n   https://corpus.invalid/tower.md\n"
        "   # CN Tower It is 553.3 m tall."
    )
    assert (google.error, google.cost_usd) == (None, 0.0)


def test_nothing_found_is_said(corpus, store):
    assert search(corpus, store, "zebra")[0].text.startswith("Nothing was found for 'zebra'")


def test_a_trial_may_search_so_often(corpus, store):
    results = search(corpus, store, "tower", "tower", limits=ServiceLimits(search=3))
    kinds = [result.error for result in results]
    assert kinds == [None, None, None, ToolErrorKind.REFUSED]


def test_without_services_a_host_tool_is_unavailable():
    box = Toolbox(["GoogleSearch"], NoSandbox())
    call = ToolCall(id="1", tool="GoogleSearch", arguments={"query": "x"})
    with pytest.raises(ToolUnavailable, match="GoogleSearch: its service"):
        asyncio.run(box.call(call))


def test_only_what_is_ready_is_opened(store, monkeypatch):
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    backends = ToolBackends(search="serper", tool_model="compatible/m", image_model="compatible/i")

    async def opened():
        async with ModelClients() as clients, open_services(backends, clients, store) as services:
            return services

    services = asyncio.run(opened())
    assert (services.vision, services.images, services.search) == (None, None, None)


def test_an_equal_question_of_another_trial_is_not_paid_twice(wire, store):
    wire.respond = lambda seen: wire.says(f"answer {len(wire.seen)}")
    backends = ToolBackends(tool_model="compatible/m", tool_model_base_url=wire.openai_url)
    question = ModelRequest((Message("user", "?", media=(Media("image/png", b"p"),)),))

    async def ask_three_times():
        async with ModelClients() as clients, open_services(backends, clients, store) as services:
            owners = ("trial-1", "trial-2", "trial-1")
            return [await services.owned_by(owner).vision.reply(question) for owner in owners]

    replies = asyncio.run(ask_three_times())
    assert [(r.text, r.cached) for r in replies] == [
        ("answer 1", False),
        ("answer 1", True),
        ("answer 1", False),
    ]
    assert len(wire.seen) == 1
