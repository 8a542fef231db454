"""A run evaluates the bank it names: bundled, a folder, or a release in the store."""

from collections import Counter

import pytest

from stages.prepare import work as prepare
from stages.prepare.select import sampled, select
from stages.release.importing import import_bank
from taskdata.errors import Misuse
from taskdata.formats.registry import writer
from taskdata.schema.agent import AgentSpec
from taskdata.schema.ceilings import Ceilings
from taskdata.schema.gate import GateResult
from taskdata.schema.run import RunConfig
from taskdata.schema.task import Category


def config(bank, *tasks):
    return RunConfig(bank=bank, tasks=tasks, agents=(AgentSpec.parse("nop"),))


@pytest.fixture
def released(store, new_task, tmp_path):
    """Two versions of the bank `mine`; returns their hashes."""
    hashes = []
    for ids in (["one"], ["one", "two"]):
        folder = tmp_path / f"bank-{len(ids)}"
        writer("jsonl")([new_task(i) for i in ids], folder, lambda *_: None, force=False)
        hashes.append(import_bank(store, "mine", "jsonl", folder).release)
    return hashes


def test_a_stored_bank_is_evaluated_as_its_newest_release(store, released):
    run = select(store, config("mine"), "run")
    assert run.release_hash == released[1]
    assert select(store, config("mine"), "run") == run


def test_a_version_or_hash_names_a_release(store, released):
    assert select(store, config("mine@1"), "first").release_hash == released[0]
    assert select(store, config(released[0][:12]), "second").release_hash == released[0]


@pytest.mark.parametrize("asked", ["mine", "mine@latest"])
def test_a_run_is_stored_with_the_version_that_was_the_newest_when_it_began(
    store, released, new_task, tmp_path, asked
):
    run = select(store, config(asked), "run")
    assert (run.config.bank, run.release_hash) == ("mine@2", released[1])
    writer("jsonl")([new_task("three")], tmp_path / "third", lambda *_: None, force=False)
    import_bank(store, "mine", "jsonl", tmp_path / "third")
    assert select(store, config(asked), "run") == store.run("run") == run
    assert select(store, config(asked, "three"), "next").config.bank == "mine@3"


def test_some_tasks_of_a_release_are_a_release_of_their_own(store, released):
    run = select(store, config("mine", "two"), "run")
    assert [task.id for task in store.tasks_of_run(run.id).values()] == ["two"]


@pytest.mark.parametrize(("bank", "tasks"), [("mine@9", ()), ("yours", ()), ("mine", ("three",))])
def test_an_unknown_bank_or_task_is_misuse(store, released, bank, tasks):
    with pytest.raises(Misuse, match=bank):
        select(store, config(bank, *tasks), "run")


def test_a_bundled_bank_is_released_by_being_run(store):
    run = select(store, config("starter", "harvest-pie"), "run")
    assert [task.id for task in store.tasks_of_run(run.id).values()] == ["harvest-pie"]


def test_a_sample_takes_as_many_of_each_category_and_stays_the_same(new_task):
    tasks = [new_task(f"{c}-{n}", category=c) for n in range(4) for c in Category]
    chosen = sampled(tasks, 2)
    assert Counter(task.category for task in chosen) == dict.fromkeys(Category, 2)
    assert sampled(list(reversed(tasks)), 2) == chosen
    more = [*tasks, new_task("another", category=Category.RETRIEVAL_QA)]
    assert len({t.id for t in sampled(more, 2)} & {t.id for t in chosen}) >= len(chosen) - 1
    assert sampled(tasks, None) == sorted(tasks, key=lambda task: task.id)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["opnai"], "limits.opnai: calls of no provider go under this name; there are anthropic,"),
        (["opnai@api.openai.com"], "limits.opnai@api.openai.com: calls of no provider"),
        (["local"], "limits.local: .* no provider"),
        (["openai", "openai-chat"], "limits.openai-chat: the same as limits.openai"),
    ],
)
def test_limits_that_would_hold_for_nothing_are_refused(store, released, names, complaint):
    limits = {name: Ceilings(concurrency=2) for name in names}
    asked = config("mine").model_copy(update={"limits": limits})
    with pytest.raises(Misuse, match=complaint):
        select(store, asked, "run")
    assert store.find_run("run") is None


def test_limits_by_provider_or_host_are_taken(store, released):
    names = ("openai", "anthropic@localhost:9", "compatible@one", "compatible@two")
    limits = {name: Ceilings(concurrency=2) for name in names}
    asked = config("mine").model_copy(update={"limits": limits})
    assert select(store, asked, "run").config.limits == limits


def test_a_task_in_quarantine_gets_no_trial(store, released):
    run = select(store, config("mine@2"), "run")
    left_out = GateResult(
        gate="tasks", run_id=run.id, success=True, rows=2, expectations=1, quarantined=("two",)
    )
    store.record_gate(left_out)
    prepare.do(store, run.id)
    assert [trial.task_id for trial in store.trials(run.id, 0)] == ["one"]
