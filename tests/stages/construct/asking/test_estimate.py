"""The dry run: bounds on what a refresh would ask, without asking."""

import pytest

from stages.construct.asking.estimate import estimate
from stages.construct.work import spent
from taskdata.schema.construct import RefreshConfig
from taskdata.schema.seed import SeedQuery


@pytest.fixture
def config(store):
    store.add_seeds([SeedQuery(text=f"Sum {n}?", source="manus") for n in range(3)], [], [], "f")

    def make(model: str = "openai/gpt-5-mini", **fields: object) -> RefreshConfig:
        provider, name = model.split("/")
        base = {
            "base": None,
            "model": {"provider": provider, "model": name},
            "max_augmentations": 0,
        }
        return RefreshConfig.model_validate(base | fields)

    return make


def test_it_names_every_stage_of_every_candidate_and_asks_nothing(store, wire, config):
    found = estimate(store, config(max_asks=2, max_rewrites=1))
    assert wire.seen == []
    assert store.refreshes() == []
    assert found.candidates == 3
    of_one = [ask for ask in found.asks if ask.task_id == found.asks[0].task_id]
    assert [(ask.prompt, ask.calls) for ask in of_one] == [
        ("generate@2", 2),
        ("classify@2", 2),
        ("augment@2", 2),
        ("repair@2", 2),
        ("opinions@2", 4),
        ("checkpoints@3", 6),
        ("opinions@2", 6),
        ("requirements@1", 8),
    ]
    assert found.calls == 3 * 32


def test_what_is_really_spent_stays_below(
    store, author, connect, started, scripts, config, construct
):
    author.says("classify", {"verdict": "augmentation", "reasons": ["thin"]})
    author.says("augment", scripts.TASK | {"title": "Wider"})
    bound = estimate(store, config())
    refresh = started("Sum 0?", source="manus", max_augmentations=0)
    construct(store, refresh.id, connect)
    used = spent(store, refresh.id)
    assert len(store.candidates(refresh.id)) == bound.candidates
    assert 0 < used.calls <= bound.calls
    assert used.tokens <= bound.input_tokens + bound.output_tokens
    assert used.usd <= bound.cost_usd


def test_an_unknown_price_is_said_and_never_counted_as_nothing(store, config):
    assert estimate(store, config("compatible/m")).cost_usd is None
    assert estimate(store, config("local/smollm2-135m")).cost_usd == 0


def test_limits_that_could_be_reached_are_named(store, config):
    found = estimate(store, config(limits={"max_calls": 10, "max_usd": 0.01}))
    assert found.beyond == ("max_calls = 10", "max_usd = 0.01")
    assert estimate(store, config()).beyond == ()


def test_augmentations_count_and_what_does_not_is_named(store, config):
    found = estimate(store, config(max_augmentations=2, expansions=5, draft_references=True))
    assert found.candidates == 5
    assert found.not_counted == (
        "5 atomic tasks made from exemplars",
        "reference solutions",
    )
