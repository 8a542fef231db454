import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.money.prices import Price, Rates, Tier, price_of
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.transcript import Usage


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai/gpt-5.2", Price(input=1.75, cached_input=0.175, output=14)),
        ("anthropic/claude-opus-5", Price(input=5, cached_input=0.5, cache_write=6.25, output=25)),
        (
            "openai/gpt-5.4",
            Price(
                input=2.5,
                cached_input=0.25,
                output=15,
                tiers=(Tier(above_input_tokens=272_000, input=5, cached_input=0.5, output=22.5),),
            ),
        ),
    ],
)
def test_published_prices_come_with_the_installed_list(name, price):
    assert price_of(ModelSpec.parse(name)) == price


def test_a_price_that_depends_on_more_than_tokens_of_text_is_unknown():
    assert price_of(ModelSpec.parse("openai/gpt-audio")) is None


def test_cached_and_written_tokens_have_their_own_price():
    price = Price(input=10, output=100, cached_input=1, cache_write=20)
    usage = Usage(
        input_tokens=1_000_000,
        output_tokens=10_000,
        cached_input_tokens=500_000,
        cache_write_tokens=100_000,
    )

    assert price.cost_usd(usage) == pytest.approx(4 + 0.5 + 2 + 1)


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
        ("openai-responses/gpt-5.2", True),
        ("openai/gpt-5.2-pro", True),
        ("openai/gpt-5.2-chat-latest", True),
        ("anthropic/claude-opus-4-6-fast", False),
        ("openai/gpt-5.2-2025", False),
        ("openai/gpt-5.2-2025-13-11", False),
        ("openai/gpt-5.2-20251211-preview", False),
        ("openai/gpt-5.2-12345678", False),
        ("openai/gpt-5", True),
        ("openai/my-gpt-5.2", False),
        ("compatible/gpt-5.2", False),
        ("local/smollm2-135m", True),
    ],
)
def test_only_a_dated_snapshot_or_a_listed_name_shares_its_models_price(name, known):
    assert (price_of(ModelSpec.parse(name)) is not None) == known


TIERED = Price(
    input=1,
    output=2,
    cached_input=0.1,
    tiers=(
        Tier(above_input_tokens=1000, input=10, output=20, cached_input=1),
        Tier(above_input_tokens=5000, input=100, output=200, cached_input=10),
    ),
)


@pytest.mark.parametrize(("tokens", "rate"), [(1000, 1), (1001, 10), (5000, 10), (5001, 100)])
def test_all_of_a_long_prompt_is_billed_at_the_rate_of_its_length(tokens, rate):
    usage = Usage(input_tokens=tokens, output_tokens=7)

    assert TIERED.cost_usd(usage) == pytest.approx((tokens * rate + 7 * 2 * rate) / 1e6)


def test_tiers_out_of_order_are_refused():
    with pytest.raises(ValueError, match="rising order of above_input_tokens"):
        Price(input=1, output=1, tiers=TIERED.tiers[::-1])


def test_a_cached_rate_that_is_not_known_makes_cached_calls_unknown():
    price = Price(input=1, output=1)

    assert price.cost_usd(Usage(input_tokens=100)) is not None
    assert price.cost_usd(Usage(input_tokens=100, cached_input_tokens=1)) is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_cache_only_saves_and_writing_it_only_costs(read, cached, written):
    rates = Rates(input=2, output=3, cached_input=0.5, cache_write=2.5)
    total = read + cached + written
    plain = rates.usd(Usage(input_tokens=total))

    assert rates.usd(Usage(input_tokens=total, cached_input_tokens=cached)) <= plain
    assert rates.usd(Usage(input_tokens=total, cache_write_tokens=written)) >= plain


OWN = """
compatible:
  as_of: 2026-11-01
  source: https://example.org/prices
  models:
    qwen3: {input: 0.1, output: 0.4}
openai:
  as_of: 2026-11-01
  source: our contract
  models:
    gpt-5.2: {input: 1.0, output: 2.0, cached_input: 0.1}
    gpt-5.1: null
"""


def known(name: str) -> float | None:
    price = price_of(ModelSpec.parse(name))
    return None if price is None else price.input


def test_a_table_of_ones_own_adds_to_the_bundled_one_and_overrules_it(tmp_path, monkeypatch):
    monkeypatch.delenv("NIGHTSHIFT_PRICES", raising=False)
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(tmp_path))
    assert known("compatible/qwen3") is None

    (tmp_path / "prices.yaml").write_text(OWN)

    assert known("compatible/qwen3") == 0.1
    assert known("openai/gpt-5.2-2025-12-11") == 1.0
    assert known("openai/gpt-5.1") is None, "null says that it is unknown"
    assert known("openai/gpt-5-mini") == 0.25


def test_the_table_may_lie_anywhere_and_is_read_again_when_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "contract.yaml"
    path.write_text(OWN)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(path))
    assert known("openai/gpt-5.2") == 1.0

    path.write_text(OWN.replace("input: 1.0,", "input: 1.125,"))

    assert known("openai/gpt-5.2") == 1.125


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("openai: [", "not readable YAML"),
        ("openai: {as_of: 2026-11-01, source: x}", "field openai.models: Field required"),
        (OWN.replace("input: 0.1", "input: -1"), "qwen3.*greater than or equal to 0"),
        (OWN.replace("input: 0.1", "input: .nan"), "qwen3.*finite number"),
        (OWN.replace("output: 0.4", "ouput: 0.4"), "qwen3"),
    ],
)
def test_a_table_that_does_not_fit_is_named_with_the_place(tmp_path, monkeypatch, text, complaint):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(path))

    with pytest.raises(Misuse, match=complaint) as caught:
        price_of(ModelSpec.parse("openai/gpt-5.2"))

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_named_table_that_is_missing_is_misuse(tmp_path, monkeypatch):
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(tmp_path / "none.yaml"))

    with pytest.raises(Misuse, match=r"none\.yaml: cannot be read"):
        price_of(ModelSpec.parse("openai/gpt-5.2"))
