import pytest

from environments.models.prices import Price, price_of, price_table
from taskdata.schema.agent import ModelSpec
from taskdata.schema.transcript import Usage


def test_every_price_of_the_table_is_dated_and_sourced():
    for provider, prices in price_table().items():
        assert prices.as_of.year >= 2026, provider
        assert prices.source.startswith("https://")
        for model, price in prices.models.items():
            assert 0 < price.cached_input < price.input < price.output, model


def test_cached_and_written_tokens_have_their_own_price():
    price = Price(input=10, output=100, cached_input=1, cache_write=20)
    usage = Usage(input_tokens=1_000_000, output_tokens=10_000, cached_input_tokens=500_000)

    assert price.cost_usd(usage, cache_write_tokens=100_000) == pytest.approx(4 + 0.5 + 2 + 1)


def test_a_prompt_beyond_the_priced_length_has_an_unknown_cost():
    price = Price(input=1, output=1, cached_input=1, max_input_tokens=100)

    assert price.cost_usd(Usage(input_tokens=100)) is not None
    assert price.cost_usd(Usage(input_tokens=101)) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("openai/gpt-5.2", True),
        ("openai/gpt-5.2-2025-12-11", True),
        ("anthropic/claude-opus-4-6-20260205", True),
        ("openai/gpt-5.2-pro", False),
        ("compatible/gpt-5.2", False),
        ("local/smollm2-135m", True),
    ],
)
def test_only_a_dated_snapshot_shares_its_models_price(name, known):
    assert (price_of(ModelSpec.parse(name)) is not None) == known
