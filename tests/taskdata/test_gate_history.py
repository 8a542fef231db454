"""The passes of a gate over runs, refreshes and releases, newest first."""

from datetime import UTC, datetime

import pytest

from taskdata.schema.gate import ExpectationOutcome, GateLevel, GateResult
from taskdata.schema.release import BankStatistics, ReleaseNotes

OUTCOME = ExpectationOutcome(
    rule="draught",
    expectation="a ship draws 2 to 9 m",
    type="expect_column_values_to_be_between",
    level=GateLevel.QUARANTINE,
    limits={"min_value": 2, "max_value": 9},
    evaluated=12,
    unexpected=1,
    success=False,
)


def passed(gate: str, subject: str, *quarantined: str) -> GateResult:
    return GateResult(
        gate=gate, run_id=subject, success=True, rows=12, expectations=1, quarantined=quarantined
    )


@pytest.fixture
def history(store, new_run, new_refresh, new_task):
    """One run with two passes of its gate, and one refresh that led to a release."""
    run = new_run(new_task("ship"))
    new_refresh()
    store.record_gate(passed("tasks", run.id))
    store.record_gate(passed("tasks", run.id, "a", "b"), [OUTCOME])
    store.record_bank_gate(passed("bank", "r1"), [OUTCOME])
    store.record_bank_gate(passed("bank", "imported"))
    release = store.add_release("fleet", [new_task("boat")], {})
    notes = ReleaseNotes(
        release_hash=release.hash,
        bank="fleet",
        version=1,
        refresh_id="r1",
        snapshot_sha256=release.hash,
        statistics=BankStatistics.model_construct(),
        created_at=datetime.now(UTC),
    )
    store.add_release_notes(notes)
    return run


def test_every_pass_of_a_gate_is_there_newest_first_with_what_it_found(store, history):
    newest, oldest = store.gate_history("tasks")

    assert (newest.subject, newest.is_run, newest.release) == (history.id, True, None)
    assert (newest.rows, newest.quarantined, newest.outcomes) == (12, 2, (OUTCOME,))
    assert (oldest.quarantined, oldest.outcomes) == (0, ())
    assert oldest.at <= newest.at
    assert store.gate_history("tasks", most=1) == [newest]
    assert store.gate_history("files") == []


def test_a_pass_of_a_refresh_knows_the_release_that_it_led_to(store, history):
    passes = {done.subject: done for done in store.gate_history("bank")}

    assert passes["r1"].release == "fleet@1"
    assert passes["r1"].outcomes == (OUTCOME,)
    assert passes["imported"].release is None
    assert not any(done.is_run for done in passes.values())
