"""What models take: known ones by table, unknown ones nothing."""

import pytest

from environments.models.capabilities import NOTHING_KNOWN, capabilities_of, capability_table
from environments.models.client import ProviderClient
from environments.models.money.prices import price_table
from environments.models.registry import model_client
from taskdata.schema.agent import ModelSpec


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


def test_every_model_with_a_price_is_in_the_table():
    for provider in ("openai", "anthropic"):
        priced = set(price_table()[provider].models)
        assert priced <= set(capability_table()[provider].models)


@pytest.mark.parametrize("way", ["openai-chat", "openai-responses"])
def test_a_model_can_do_the_same_whichever_way_it_is_asked(way):
    known = capabilities_of(ModelSpec.parse("openai/gpt-5.2"))
    assert known.inputs
    assert capabilities_of(ModelSpec.parse(f"{way}/gpt-5.2")) == known
