"""Starting a refresh: its seeds and their candidates."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.construct.start import start_refresh, task_slug
from taskdata.errors import Misuse
from taskdata.schema.construct import Construction, Origin, RefreshConfig
from taskdata.schema.seed import SeedLink, SeedQuery

CONFIG = RefreshConfig.model_validate(
    {"base": None, "model": {"provider": "openai", "model": "gpt-5-mini"}}
)


def seeds(store, *texts, links=()):
    return store.add_seeds([SeedQuery(text=t, source="reddit") for t in texts], links, [], "f")


def exact(one: str, other: str, kind: str = "seed") -> SeedLink:
    return SeedLink(seed_id=one, other_kind=kind, other_id=other, method="exact", similarity=1)


def test_every_unused_seed_becomes_a_candidate_due_for_generation(store):
    ids = seeds(store, "How do I add up?", "How do I subtract?")
    start_refresh(store, CONFIG, "r1")
    candidates = store.candidates("r1")
    assert {c.seed_id for c in candidates} == set(ids)
    assert {(c.stage, c.origin) for c in candidates} == {(Construction.GENERATE, Origin.SEED)}
    assert candidates[0].task_id.startswith("how-do-i-")


def test_the_next_refresh_of_the_bank_takes_what_is_new_and_another_bank_takes_all(store):
    seeds(store, "One?")
    start_refresh(store, CONFIG, "r1")
    (new,) = seeds(store, "Two?")
    start_refresh(store, CONFIG, "r2")
    start_refresh(store, CONFIG.model_copy(update={"bank": "other"}), "r3")
    assert [c.seed_id for c in store.candidates("r2")] == [new]
    assert len(store.candidates("r3")) == 2


def test_starting_again_changes_nothing(store):
    seeds(store, "One?", "Two?")
    first = start_refresh(store, CONFIG, "r1")
    seeds(store, "Three?")
    assert start_refresh(store, CONFIG, "r1") == first
    assert len(store.candidates("r1")) == 2
    assert len(store.refresh_stages("r1")) == 1


def test_an_interrupted_start_is_completed(store, monkeypatch):
    seeds(store, "One?", "Two?")
    with monkeypatch.context() as broken:
        broken.setattr(store, "record_refresh_stage", lambda report: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            start_refresh(store, CONFIG, "r1")
    start_refresh(store, CONFIG, "r1")
    (report,) = store.refresh_stages("r1")
    assert (report.due, report.done, len(store.candidates("r1"))) == (2, 2, 2)


def test_another_configuration_needs_another_id(store):
    start_refresh(store, CONFIG, "r1")
    with pytest.raises(Misuse, match="another configuration"):
        start_refresh(store, CONFIG.model_copy(update={"bank": "other"}), "r1")


def test_a_repeated_seed_is_left_out_and_it_shows(store):
    first, second = (SeedQuery(text=t, source="reddit").seed_id for t in ("One?", "one"))
    # Linked both ways: one of the two has to stay.
    seeds(store, "One?", "one", links=[exact(first, second), exact(second, first)])
    third = SeedQuery(text="A task's words", source="reddit").seed_id
    seeds(store, "A task's words", links=[exact(third, "sum-two", "task")])
    start_refresh(store, CONFIG, "r1")
    kept = {c.seed_id for c in store.candidates("r1")}
    assert len(kept & {first, second}) == 1
    assert third not in kept
    (report,) = store.refresh_stages("r1")
    assert (report.due, report.done) == (3, 1)
    assert report.note.startswith("2 left out; first: seed ")
    rows = {row.item: row.reason for row in store.quarantined("r1")}
    assert rows[third] == "says word for word the same as task sum-two"


def test_named_seeds_are_taken_and_unknown_ones_are_a_misuse(store):
    one, two = seeds(store, "One?", "Two?")
    start_refresh(store, CONFIG.model_copy(update={"seeds": (two, two)}), "r1")
    assert [c.seed_id for c in store.candidates("r1")] == [two]
    with pytest.raises(Misuse, match="'nope' is not in the store"):
        start_refresh(store, CONFIG.model_copy(update={"seeds": (one, "nope")}), "r2")
    assert store.find_refresh("r2") is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": {"provider": "compatible", "model": "m"}, "limits": {"max_usd": 1.0}}, "price"),
        ({"model": {"provider": "nobody", "model": "m"}}, "unknown provider"),
        ({"model": {"provider": "compatible", "model": "m"}}, "base URL"),
        ({"base": "nowhere"}, "bank 'nowhere' is unknown"),
        ({"bank": "starter"}, "bundled bank"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_stored(store, changes, said):
    config = RefreshConfig.model_validate(CONFIG.model_dump() | changes)
    with pytest.raises(Misuse, match=said):
        start_refresh(store, config, "r1")
    assert store.refreshes() == []


@given(st.text(max_size=300), st.text(max_size=20))
def test_any_text_gives_a_task_id(text, key):
    assert re.fullmatch(r"[a-z0-9][a-z0-9_\-]{0,79}", task_slug(text, key))


def test_a_task_id_says_what_the_seed_is_about():
    assert re.fullmatch(r"wie-messe-ich-warme-[0-9a-f]{8}", task_slug("Wie messe ich Wärme?", "s"))
    assert re.fullmatch(r"task-[0-9a-f]{8}", task_slug("売上を集計", "s"))
