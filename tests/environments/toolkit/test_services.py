"""Opening the configured services; what tools do without them."""

import asyncio
from pathlib import Path

import pytest

from environments.models.faults import NotRecorded
from environments.models.record.log import Payer
from environments.models.record.recorder import CallRecorder
from environments.models.registry import ModelClients
from environments.models.retry import is_silence
from environments.ports import Media, Message, ModelRequest
from environments.tool_runtime.states import READY, tool_state
from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.host_tool import HostToolContext
from environments.toolkit.services import ServiceLimits, open_services
from taskdata.errors import ModelRejected, ModelUnavailable, ToolUnavailable
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec
from taskdata.schema.tool_backends import ToolBackends
from taskdata.schema.transcript import ToolCall
from tests.environments.models.limiters import limiter_of

PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    m: {input: 10, output: 10, cached_input: 1}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> ToolBackends:
    (tmp_path / "tower.md").write_text("# CN Tower\n\nIt is 553.3 m tall.")
    return ToolBackends(search="corpus", search_corpus=str(tmp_path))


class NoSandbox:
    """A sandbox that must not be used."""


def opened_for(backends: ToolBackends, clients: ModelClients, store):
    return open_services(backends, clients, CallRecorder(store))


def search(backends: ToolBackends, store, *queries: str, limits=None) -> list[ToolResult]:
    async def trial() -> list[ToolResult]:
        async with (
            ModelClients() as clients,
            open_services(backends, clients, CallRecorder(store)) as services,
        ):
            context = HostToolContext(services)
            if limits:
                from dataclasses import replace

                context = HostToolContext(replace(services, limits=limits))
            box = Toolbox(["GoogleSearch", "web_search"], NoSandbox(), context)
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


class Silence:
    """A tool whose model cannot be brought to answer."""

    spec = ToolSpec(name="look", description="Look.", category="perception", parameters={})

    async def run(self, arguments: object, sandbox: object) -> ToolResult:
        raise ModelUnavailable("compatible/seer: no answer")


def test_a_silent_model_behind_a_tool_is_the_tools_failure_and_no_silence_of_the_agents_model():
    box = Toolbox([], NoSandbox(), more=[Silence()])
    with pytest.raises(ToolUnavailable, match="look: compatible/seer: no answer") as failure:
        asyncio.run(box.call(ToolCall(id="1", tool="look", arguments={})))
    assert not is_silence(failure.value)


def test_only_what_is_ready_is_opened(store, monkeypatch):
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    backends = ToolBackends(search="serper", tool_model="compatible/m", image_model="compatible/i")

    async def opened():
        async with (
            ModelClients() as clients,
            open_services(backends, clients, CallRecorder(store)) as services,
        ):
            return services

    services = asyncio.run(opened())
    assert (services.vision, services.images, services.search) == (None, None, None)


def test_a_replay_asks_nobody_and_needs_no_key(store, new_run, monkeypatch):
    for variable in ("OPENAI_API_KEY", "SERPER_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    named = {
        "tool_model": "openai/gpt-5.2",
        "image_model": "compatible/i",
        "image_model_base_url": "http://localhost:1/v1",
        "search": "serper",
    }
    config = new_run(replies="replay", **named).config

    async def opened():
        async with (
            ModelClients() as clients,
            open_services(config, clients, CallRecorder(store)) as services,
        ):
            with pytest.raises(NotRecorded):
                await services.vision.reply(ModelRequest((Message("user", "?"),)))
            return services

    services = asyncio.run(opened())
    assert (services.images, services.search) == (None, None)
    assert tool_state("ImageDescription", config) == READY
    assert "replies = replay asks nobody" in tool_state("TextToImage", config)
    assert "set search_recording = replay" in tool_state("web_search", config)


@pytest.fixture
def tried(new_run, new_task, plan_trial):
    """Two trials of a run."""
    tasks = new_task("one"), new_task("two")
    run = new_run(*tasks)
    return [plan_trial(run, task) for task in tasks]


@pytest.fixture
def asked(wire, store, tmp_path, monkeypatch):
    """Ask the multimodal model the same for one trial after the other; returns the replies."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    backends = ToolBackends(tool_model="compatible/m", tool_model_base_url=wire.openai_url)
    question = ModelRequest((Message("user", "?", media=(Media("image/png", b"p"),)),))

    def ask(*trials):
        async def run():
            async with (
                ModelClients() as clients,
                CallRecorder(store) as calls,
                open_services(backends, clients, calls) as services,
            ):
                owned = (services.owned_by(Payer.trial(trial.id, 1)) for trial in trials)
                return [await mine.vision.reply(question) for mine in owned]

        return asyncio.run(run())

    return ask


def test_an_equal_question_of_another_trial_is_not_paid_twice(wire, tried, asked):
    wire.respond = lambda seen: wire.says(f"answer {len(wire.seen)}")
    first, second = tried
    replies = asked(first, second, first)
    assert [(r.text, r.cached) for r in replies] == [
        ("answer 1", False),
        ("answer 1", True),
        ("answer 1", False),
    ]
    assert len(wire.seen) == 1


def test_what_a_tools_model_costs_is_known_before_its_trial_has_ended(wire, store, tried, asked):
    wire.then(wire.says("A cat.", input_tokens=1_000, output_tokens=100))
    first, _ = tried
    asked(first)
    assert store.spent_usd(first.run_id) == pytest.approx(0.011)


def test_what_a_tools_model_may_charge_without_an_answer_is_known_too(wire, store, tried, asked):
    wire.then(wire.truncates(), wire.fails(400))
    first, _ = tried
    with pytest.raises(ModelRejected):
        asked(first)
    assert store.spent_usd(first.run_id) > 0.01


def test_models_that_draw_keep_to_the_limits_of_all_clients(wire, store):
    picture = {"created": 1, "data": [{"b64_json": "cG5n"}]}
    wire.respond = lambda seen: wire.waits(0.05, wire.answers(picture))
    backends = ToolBackends(image_model="compatible/flux", image_model_base_url=wire.openai_url)
    limiter = limiter_of({"compatible": Ceilings(concurrency=1)})

    async def draw_three() -> None:
        async with (
            ModelClients(limiter) as clients,
            open_services(backends, clients, CallRecorder(store)) as services,
        ):
            await asyncio.gather(*(services.images.draw("a red boat") for _ in range(3)))

    asyncio.run(draw_three())
    assert (len(wire.seen), wire.most_at_once) == (3, 1)
