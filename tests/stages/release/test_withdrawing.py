"""A withdrawn task leaves a tombstone: later runs, releases and imports do without it."""

import pytest

from quality.summary import summarise
from stages.prepare import work as prepare
from stages.prepare.select import chosen_tasks, select
from stages.release.importing import import_bank
from stages.release.release import Composition, release, without_withdrawn
from stages.release.withdrawing import withdraw
from taskdata.errors import Misuse
from taskdata.formats.registry import writer
from taskdata.schema.agent import AgentSpec
from taskdata.schema.release import Lineage
from taskdata.schema.reservations import reservations
from taskdata.schema.run import RunConfig


def composed(*tasks):
    lineage = tuple(
        Lineage(task_id=t.id, task_hash=t.content_hash, proof="unproven", origin="base")
        for t in tasks
    )
    return Composition(bank="office", tasks=tasks, lineage=lineage)


def config(*tasks, **changes):
    agents = (AgentSpec.parse("nop"),)
    return RunConfig(bank="office", tasks=tasks, agents=agents, **changes)


def told(store, run):
    tasks, tombstones = store.tasks_of_run(run.id), store.withdrawn_of_release(run.release_hash)
    results = store.results(run.id)
    return reservations(summarise(run, results, tasks, withdrawals=tombstones.values()))


@pytest.fixture
def office(store, new_task):
    """Tasks `one` and `two` in a release of the bank `office`."""
    tasks = (new_task("one"), new_task("two"))
    release(store, composed(*tasks))
    return tasks


def test_a_run_leaves_a_withdrawn_task_out_and_says_so(store, office):
    (tombstone,) = withdraw(store, "office", "one", "its answer is on the web")
    run = select(store, config(), "run")
    report = prepare.do(store, run.id)
    assert report.note.startswith("1 trials planned over 1 tasks; 1 withdrawn and left out: one")
    assert {result.trial.task_id for result in store.results(run.id)} == {"two"}
    (sentence,) = told(store, run)
    assert "1 task was withdrawn before this run and had no trial: one (" in sentence
    assert tombstone.told in sentence


def test_an_earlier_run_keeps_its_figures_and_says_that_the_task_was_withdrawn(store, office):
    run = select(store, config(), "run")
    prepare.do(store, run.id)
    withdraw(store, "office", "one", "its answer is on the web")
    prepare.do(store, run.id)
    assert {result.trial.task_id for result in store.results(run.id)} == {"one", "two"}
    (sentence,) = told(store, run)
    assert "1 task was withdrawn since; the figures of this run still count it: one" in sentence


def test_a_withdrawn_task_cannot_be_asked_for_and_is_in_no_sample(store, office):
    withdraw(store, "office", "one", "leaked")
    for ask in (
        lambda: select(store, config("one"), "run"),
        lambda: chosen_tasks(store, config("one")),
    ):
        with pytest.raises(Misuse, match=r"'one' of bank 'office' was withdrawn on .*: leaked"):
            ask()
    assert [task.id for task in chosen_tasks(store, config())] == ["two"]
    sample = select(store, config(sample=1), "sampled")
    assert [task.id for task in store.tasks_of_run(sample.id).values()] == ["two"]


def test_a_run_of_withdrawn_tasks_only_is_refused(store, office):
    for name in ("one", "two"):
        withdraw(store, "office", name, "leaked")
    run = select(store, config(), "run")
    with pytest.raises(Misuse, match="every task that could run was withdrawn"):
        prepare.do(store, run.id)


def test_a_new_release_leaves_it_out_with_the_reason_in_its_changelog(store, office):
    withdraw(store, "office", "one", "wrong licence")
    notes = release(store, without_withdrawn(store, composed(*office)))
    assert [entry.task_id for entry in notes.lineage] == ["two"]
    (change,) = notes.changes
    assert (change.task_id, change.kind) == ("one", "removed")
    assert change.why.startswith("withdrawn on ")
    assert change.why.endswith(": wrong licence")


def test_every_version_that_the_bank_has_held_is_withdrawn_but_not_one_that_is_mended(
    store, office, new_task
):
    second = new_task("one", title="Another title")
    release(store, composed(second, office[1]))
    tombstones = withdraw(store, "office", "one", "ambiguous")
    assert {t.task_hash for t in tombstones} == {office[0].content_hash, second.content_hash}
    mended = new_task("one", title="Mended")
    assert without_withdrawn(store, composed(mended)).tasks == (mended,)


def test_a_version_of_the_bank_names_one_version_of_the_task(store, office, new_task):
    release(store, composed(new_task("one", title="Mended"), office[1]))
    (tombstone,) = withdraw(store, "office@1", "one", "ambiguous")
    assert tombstone.task_hash == office[0].content_hash


def test_a_second_withdrawal_leaves_the_first_tombstone(store, office):
    first = withdraw(store, "office", "one", "leaked")
    assert withdraw(store, "office", "one", "another reason") == first


def test_a_withdrawn_task_is_not_imported_again(store, office, tmp_path):
    withdraw(store, "office", "one", "leaked")
    writer("jsonl")(office, tmp_path / "out", lambda *_: None, force=False)
    report = import_bank(store, "again", "jsonl", tmp_path / "out")
    assert (report.imported, report.quarantined) == (1, 1)
    assert "was withdrawn on" in report.reasons[0].reason


@pytest.mark.parametrize(
    ("bank", "task", "reason", "message"),
    [
        ("office", "three", "leaked", "no task 'three'"),
        ("nowhere", "one", "leaked", "'nowhere' is unknown"),
        ("office", "one", "  ", "--reason"),
        ("office", "one", "x" * 501, "expected 1 to 500 characters"),
    ],
)
def test_misuse_withdraws_nothing(store, office, bank, task, reason, message):
    with pytest.raises(Misuse, match=message):
        withdraw(store, bank, task, reason)
    assert store.withdrawals() == {}
