"""What models take: known ones by table, unknown ones nothing."""

import pytest

from environments.models.capabilities import (
    NOTHING_KNOWN,
    capabilities_of,
    capability_table,
    native_inputs,
)
from environments.models.client import ProviderClient
from environments.models.money.prices import price_of
from environments.models.registry import model_client
from taskdata.schema.agent import AgentSpec, ModelSpec


def test_a_known_model_takes_files_and_has_a_window():
    known = capabilities_of(ModelSpec.parse("anthropic/claude-haiku-4-5"))
    assert known.inputs == ("image", "pdf")
    assert known.window_tokens == 200_000


@pytest.mark.parametrize("name", ["gpt-audio-1.5", "gpt-audio-2025-08-28", "gpt-audio-mini"])
def test_a_model_that_hears_is_asked_over_the_format_that_carries_recordings(monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    spec = ModelSpec(provider="openai", model=name)
    assert capabilities_of(spec).inputs == ("audio",)
    client = model_client(spec, None)
    assert isinstance(client, ProviderClient)
    assert client.takes_audio


def test_a_snapshot_can_do_what_its_model_can():
    dated = capabilities_of(ModelSpec.parse("openai/gpt-5.2-2025-12-11"))
    assert dated == capabilities_of(ModelSpec.parse("openai/gpt-5.2"))
    assert dated.inputs


@pytest.mark.parametrize("name", ["openai/gpt-9", "local/smollm2-135m", "compatible/gpt-5.2"])
def test_of_other_models_nothing_is_known(name):
    assert capabilities_of(ModelSpec.parse(name)) is NOTHING_KNOWN


@pytest.mark.parametrize(
    ("name", "window_tokens"),
    [
        ("openai/gpt-5.5", 922_000),
        ("openai/gpt-5-2025-08-07", 272_000),
        ("openai/gpt-4.1", 1_047_576),
        ("openai/gpt-4o-2024-11-20", 128_000),
        ("openai/o4-mini", 200_000),
        ("anthropic/claude-opus-4-5-20251101", 200_000),
        ("anthropic/claude-haiku-5-5", 1_000_000),
    ],
)
def test_rivals_are_shown_the_same_files(name, window_tokens):
    known = capabilities_of(ModelSpec.parse(name))
    assert known.inputs == ("image", "pdf")
    assert known.window_tokens == window_tokens


@pytest.mark.parametrize(
    ("agent", "base_url", "hears"),
    [
        ("react:anthropic/claude-haiku-4-5", None, False),
        ("react:openai-responses/gpt-5.2", None, False),
        ("react:openai/gpt-5.2", None, False),
        ("react:openai/gpt-5.2", "http://proxy:1/v1", True),
        ("react:openai/gpt-audio-1.5", None, True),
        ("react:openai-chat/gpt-5.2", None, True),
        ("react:compatible/qwen3-omni", None, True),
    ],
)
def test_an_agent_is_shown_what_it_names_as_far_as_its_requests_carry_it(agent, base_url, hears):
    kinds = ("audio", "image")
    spec = AgentSpec.parse(agent, base_url=base_url, native_inputs=kinds)
    assert native_inputs(spec) == (kinds if hears else ("image",))


def test_an_agent_that_names_none_is_shown_what_its_model_takes():
    assert native_inputs(AgentSpec.parse("react:openai/gpt-5.2")) == ("image", "pdf")
    assert native_inputs(AgentSpec.parse("react:openai/gpt-5.2", native_inputs=())) == ()
    assert native_inputs(AgentSpec.parse("react:openai/gpt-9")) == ()
    assert native_inputs(AgentSpec.parse("react:openai-responses/gpt-audio")) == ()
    assert native_inputs(AgentSpec.parse("reference")) == ()


def test_every_model_of_the_table_has_a_price():
    for provider in ("openai", "anthropic"):
        for model in capability_table()[provider].models:
            if "audio" not in model:
                assert price_of(ModelSpec.parse(f"{provider}/{model}")), model


@pytest.mark.parametrize("way", ["openai-chat", "openai-responses"])
def test_a_model_can_do_the_same_whichever_way_it_is_asked(way):
    known = capabilities_of(ModelSpec.parse("openai/gpt-5.2"))
    assert known.inputs
    assert capabilities_of(ModelSpec.parse(f"{way}/gpt-5.2")) == known
