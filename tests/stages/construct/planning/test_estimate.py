"""What a refresh of planning cases would make and ask, before it makes or asks anything."""

import json
from datetime import UTC, datetime

import pytest

from quality.bank_statistics import bank_statistics
from stages.construct.planning import work
from stages.construct.planning.estimate import estimate_cases
from stages.construct.planning.variations import Variation
from taskdata.errors import Misuse
from taskdata.schema.construct import Refresh, RefreshConfig, RefreshStatus
from taskdata.schema.release import ReleaseNotes
from taskdata.schema.task import ReferenceSolution
from tests.stages.construct.planning.conftest import WRITTEN


@pytest.fixture
def config(store, harvest):
    """The configuration of a refresh of these tasks, or of the one about the harvest."""

    def make(*tasks, **more: object) -> RefreshConfig:
        chosen = tasks or (harvest,)
        release = store.add_release("tiny", chosen, {})
        notes = ReleaseNotes(
            release_hash=release.hash,
            bank="tiny",
            version=1,
            snapshot_sha256=release.hash,
            statistics=bank_statistics(list(chosen)),
            created_at=datetime.now(UTC),
        )
        store.add_release_notes(notes)
        fields = {"bank": "planned", "base": None, "plan_cases": "tiny"}
        return RefreshConfig.model_validate(fields | more)

    return make


@pytest.fixture
def made(store, connect):
    """Make the cases of that configuration; returns how many of each setting there are."""

    def make(config: RefreshConfig) -> dict[str, int]:
        new = Refresh(
            id="r1",
            status=RefreshStatus.RUNNING,
            config=config,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_refresh(new)
        work.do(store, "r1", connect)
        settings = [
            Variation.model_validate_json(c.aim).setting.value for c in store.candidates("r1")
        ]
        return {name: settings.count(name) for name in dict.fromkeys(settings)}

    return make


def test_as_many_cases_are_foretold_as_are_made_and_no_call(store, config, made):
    asked = config()
    found = estimate_cases(store, asked)
    assert store.candidates("r1") == []
    assert {name: count for name, count in found.cases.items() if count} == made(asked)
    assert (found.calls, found.asks, found.cost_usd, found.model) == (0, (), 0, None)
    (source,) = found.sources
    assert (source.task_id, source.steps, source.trial_id) == ("harvest-letter", 4, None)
    assert (source.cases, source.to_be_played) == (sum(found.cases.values()), False)


def test_every_question_to_a_model_is_foretold_and_none_is_asked(store, config, made, wire):
    wire.respond = lambda seen: wire.says(json.dumps(WRITTEN["plan"]))
    model = {"provider": "openai", "model": "gpt-5.2"}
    asked = config(model=model, base_url=wire.openai_url, max_asks=1)
    found = estimate_cases(store, asked)
    assert wire.seen == []
    words = [ask.prompt for ask in found.asks if ask.prompt != "case_opinion@1"]
    assert sorted(words) == [
        "case_distractors@1",
        *["case_infeasible@1"] * found.cases["unsolvable"],
        "case_plan@1",
        "case_substitute@1",
    ]
    assert sum(ask.calls for ask in found.asks) == found.calls
    assert found.cost_usd > 0
    assert {name: count for name, count in found.cases.items() if count} == made(asked)
    assert 0 < len(wire.seen) <= found.calls


def test_a_reference_that_was_not_recorded_is_named_and_not_played(store, config, harvest):
    steps = tuple(s.model_copy(update={"result": None}) for s in harvest.reference.steps)
    unplayed = harvest.model_copy(
        update={"reference": ReferenceSolution(steps=steps, final_answer="42 kg")}
    )
    bare = harvest.model_copy(update={"id": "bare", "reference": None})
    found = estimate_cases(store, config(unplayed, bare, sandbox="docker"))
    assert [source.to_be_played for source in found.sources] == [True]
    assert found.cases["holistic"] == 1
    assert found.without == ("bare",)


def test_a_case_that_cannot_be_made_is_named(store, config, harvest):
    strange = harvest.model_copy(update={"tools": (*harvest.tools, "no_such_tool")})
    found = estimate_cases(store, config(strange))
    assert sum(found.cases.values()) == 0
    assert found.left_out == ("task 'harvest-letter': tool 'no_such_tool' is not in the catalogue",)


def test_a_limit_in_money_needs_a_price(store, config):
    model = {"provider": "compatible", "model": "mine"}
    with pytest.raises(Misuse, match="price"):
        estimate_cases(store, config(model=model, limits={"max_usd": 1}))
