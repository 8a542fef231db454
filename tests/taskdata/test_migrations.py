"""A database of an earlier revision keeps its facts when it is brought up to date."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import JSON, bindparam, create_engine, event, inspect, text
from sqlalchemy.exc import IntegrityError

from environments.models.record.client import StoredReply
from taskdata.schema.night import Night, NightSettings
from taskdata.store import Store
from tests.paid import paid

ROWS = """
INSERT INTO task VALUES ('h', 'sum', 'workflow', 'data_analysis', '{}', NULL);
INSERT INTO bank_release (hash, name, created_at) VALUES ('r', 'test', '2026-03-01 22:00:00');
INSERT INTO run (id, status, config, release_hash, code_version, created_at)
  VALUES ('run-1', 'completed', '{}', 'r', '1', '2026-03-01 22:00:00');
INSERT INTO trial (id, run_id, agent, task_id, task_hash, tier, category, repetition, round)
  VALUES ('t1', 'run-1', 'nop', 'sum', 'h', 'workflow', 'data_analysis', 0, 0);
INSERT INTO outcome (id, trial_id, attempt, status, final_answer, rejected_files, input_tokens,
  output_tokens, cached_input_tokens, wall_seconds, turns, tool_calls, tool_errors, sandbox,
  code_version, started_at, finished_at)
  VALUES (1, 't1', 1, 'finished', '5', '[]', 70, 30, 10, 12.5, 3, 2, 1, 'docker', '1',
  '2026-03-01 22:00:00', '2026-03-01 22:01:00');
INSERT INTO deliverable VALUES (1, 'out.json', 'SHA256', 3)
""".replace("SHA256", "a" * 64)


@pytest.fixture
def address(empty_database):
    return empty_database


@pytest.fixture
def to(address):
    """Bring the database to a revision, as the store does it: with foreign keys enforced."""
    config = Config()
    config.set_main_option("script_location", str(Path("taskdata/migrations").resolve()))
    url = address.database_url.replace("postgresql:", "postgresql+psycopg:")
    engine = create_engine(url)
    if url.startswith("sqlite"):
        enforce = "PRAGMA foreign_keys=ON"
        event.listen(engine, "connect", lambda connection, _: connection.execute(enforce))

    def go(revision, *statements, down=False):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            (command.downgrade if down else command.upgrade)(config, revision)
            for statement in statements:
                connection.execute(text(statement) if isinstance(statement, str) else statement)

    yield go
    engine.dispose()


def test_what_was_measured_before_stays_as_it_was(to, address):
    to("0002", *ROWS.strip().split(";\n"))
    store = Store.open(address)
    outcome = store.outcome("t1")
    store.close()
    assert (outcome.wall_seconds, outcome.turns, outcome.tool_calls) == (12.5, 3, 2)
    assert outcome.tool_errors == 1
    assert (outcome.usage.total, outcome.usage.cached_input_tokens) == (100, 10)
    assert (outcome.usage.reasoning_tokens, outcome.usage.cache_write_tokens) == (0, 0)
    assert [file.name for file in outcome.deliverables] == ["out.json"]


CALL = """
INSERT INTO model_call (id, trial_id, attempt, key, model, input_tokens, output_tokens,
  cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_usd, at, reply)
  VALUES (ID, 't1', 1, 'KEY', 'gpt-5.2', 70, 30, 10, 0, 0, USD, '2026-03-01 22:00:00', '{}')
""".replace("KEY", "b" * 64)


def test_calls_that_were_kept_before_their_greatest_cost_was_stay_as_they_were(to, address):
    to("0002", *ROWS.strip().split(";\n"))
    known, unknown = (
        CALL.replace("ID", number).replace("USD", usd)
        for number, usd in (("1", "0.5"), ("2", "NULL"))
    )
    to("0004", known)
    store = Store.open(address)
    assert [call.cost_usd for call in store.paid_calls("t1")] == [0.5]
    assert store.spent_usd("run-1") == 0.5
    store.close()
    to("0004", unknown, down=True)
    store = Store.open(address)
    assert [call.cost_at_most_usd for call in store.paid_calls("t1")] == [None, None]
    assert store.spent_usd("run-1") is None
    store.close()


def test_unknown_effort_is_0_for_an_earlier_revision(to, address):
    to("0002", *ROWS.strip().split(";\n"))
    to("0003", "UPDATE outcome SET turns = NULL, wall_seconds = NULL, input_tokens = NULL")
    to("0002", down=True)
    to("0003")
    store = Store.open(address)
    outcome = store.outcome("t1")
    store.close()
    assert (outcome.turns, outcome.wall_seconds, outcome.usage.total) == (0, 0.0, 30)


REPLY = {
    "text": "12 km",
    "model": "m-1",
    "tool_calls": [],
    "usage": {"input_tokens": 70, "output_tokens": 30, "cached_input_tokens": 10},
    "cost_usd": 0.5,
    "stop_reason": "stop",
    "seconds": 1.5,
    "replay": [],
    "thinking": "",
    "failed_attempts": [],
    "owner": "c1/generate/1",
}
BILL = {"calls": 1, "tokens": 120, "usd": 0.75, "failed_attempts": []}
REFRESH = """
INSERT INTO refresh (id, status, config, code_version, created_at)
  VALUES ('refresh/1', 'running', '{}', '1', '2026-03-01 22:00:00')
"""
JUDGES_CALL = CALL.replace("ID", "7").replace("USD", "0.25").replace("'t1', 1", "'t1', 0")
LINE = text("INSERT INTO model_reply VALUES (:key, 'compatible/m', :reply, '2026-03-01 22:00:00')")


def test_shared_replies_and_the_bills_of_refreshes_move_into_the_record_of_calls(to, address):
    kept = (("c" * 64, REPLY), (f"bill/refresh/1/{'d' * 32}", BILL))
    lines = [LINE.bindparams(bindparam("reply", row, JSON()), key=key) for key, row in kept]
    own = CALL.replace("ID", "6").replace("USD", "0.5").replace("'{}'", ":reply")
    to("0002", *ROWS.strip().split(";\n"))
    to(
        "0008",
        REFRESH,
        text(own).bindparams(bindparam("reply", REPLY, JSON())),
        JUDGES_CALL,
        *lines,
    )

    store = Store.open(address)
    shared = store.shared_call("c" * 64)
    assert StoredReply.model_validate(shared.reply).as_reply("c1/generate/1").text == "12 km"
    assert not StoredReply.model_validate(shared.reply).as_reply("c1/generate/1").cached
    assert (shared.usage.total, shared.usage.cached_input_tokens) == (100, 10)
    assert store.shared_call("b" * 64) is None, "a trial's own reply is no other work's"
    assert store.spent_on_refresh("refresh/1") == (1, 120, 0.75)
    assert [call.reply for call in store.paid_calls("t1")] == [REPLY]
    assert [call.purpose for call in store.judge_calls("t1")] == ["judge"]
    assert (paid(store, "run-1"), store.spent_usd("run-1")) == ((1, 0.5), 0.75)
    store.record_calls([shared.model_copy(update={"reply": REPLY | {"text": "13 km"}})])
    assert store.shared_call("c" * 64) == shared, "the first one stays"
    store.close()

    to("0008", down=True)
    again = Store.open(address)
    assert again.shared_call("c" * 64) == shared
    assert again.spent_on_refresh("refresh/1") == (1, 120, 0.75)
    assert (paid(again, "run-1"), again.spent_usd("run-1")) == ((1, 0.5), 0.75)
    again.close()


def night() -> Night:
    settings = NightSettings(
        bank="test",
        release_hash="b" * 64,
        threshold=7,
        min_coverage=0.5,
        sandbox="docker",
        repetitions=1,
        refinement_rounds=0,
        code_version="1",
        agents={},
    )
    return Night(
        run_id="run-1",
        created_at=datetime(2026, 3, 1, 22, tzinfo=UTC),
        status="completed",
        settings=settings,
        tasks=(),
        cells=(),
    )


def test_runs_that_ended_before_nights_were_kept_are_found_and_their_nights_stored(to, address):
    to("0009", *ROWS.strip().split(";\n"))
    store = Store.open(address)
    assert store.runs_without_a_night() == ["run-1"]
    store.save_night(night())
    assert store.runs_without_a_night() == []
    assert list(store.nights()) == [night()]
    store.close()
    to("0009", down=True)
    again = Store.open(address)
    assert again.runs_without_a_night() == ["run-1"], "nights are made again from the runs"
    again.close()


def test_trials_are_found_by_the_trial_that_they_refine(to, address):
    def indexed() -> bool:
        engine = create_engine(address.database_url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect() as connection:
            indexes = inspect(connection).get_indexes("trial")
        engine.dispose()
        return any(index["column_names"] == ["parent_trial_id"] for index in indexes)

    to("0010", *ROWS.strip().split(";\n"))
    assert not indexed()
    to("0011")
    assert indexed()
    to("0010", down=True)
    assert not indexed()


def test_of_earlier_attempts_it_is_unknown_which_tools_they_called(to, address):
    to("0002", *ROWS.strip().split(";\n"))
    to("0011")
    store = Store.open(address)
    outcome = store.outcome("t1")
    store.close()
    assert (outcome.tool_calls, outcome.tool_uses) == (2, None)


REFINED = """
INSERT INTO run (id, status, config, release_hash, code_version, created_at)
  VALUES ('run-2', 'completed', '{"feedback": "coarse"}', 'r', '1', '2026-03-01 22:00:00');
INSERT INTO trial VALUES ('t2', 'run-1', 'nop', 'sum', 'h', 'workflow', 'data_analysis', 0, 1, 't1', 'no');
INSERT INTO trial VALUES ('t3', 'run-2', 'nop', 'sum', 'h', 'workflow', 'data_analysis', 0, 0, NULL, NULL);
INSERT INTO trial VALUES ('t4', 'run-2', 'nop', 'sum', 'h', 'workflow', 'data_analysis', 0, 1, 't3', 'no')
"""  # noqa: E501


def test_refined_trials_get_the_arm_that_their_run_had(to, address):
    statements = f"{ROWS.strip()};\n{REFINED.strip()}".replace("'h'", f"'{'a' * 64}'")
    to("0002", *(text(one.replace(": ", "\\: ")) for one in statements.split(";\n")))
    store = Store.open(address)
    arms = {t.id: t.arm for run in ("run-1", "run-2") for t in store.trials(run)}
    assert arms == {"t1": "", "t2": "checkpoint", "t3": "", "t4": "coarse"}
    assert store.outcome("t1").wall_seconds == 12.5, "what refers to trials stays"
    (refined,) = store.trials("run-1", 1)
    assert store.plan_trials([refined.model_copy(update={"id": "t5", "arm": "none"})]) == 1
    with pytest.raises(IntegrityError):
        store.plan_trials([refined.model_copy(update={"id": "t6"})])
    store.close()
    to("0016", down=True)
    with pytest.raises(RuntimeError, match="run-1 has several arms"):
        to("0015", down=True)
    to("0016", "DELETE FROM trial WHERE id = 't5'")
    to("0015", down=True)
    again = Store.open(address)
    assert {t.id: t.arm for t in again.trials("run-2")} == {"t3": "", "t4": "coarse"}
    again.close()


STOPPED = """
INSERT INTO candidate (id, refresh_id, task_id, tier, origin, aim, stage, status, reason)
  VALUES ('c1', 'refresh/1', 'sums', 'workflow', 'seed', '', 'validate', 'quarantined', 'vague')
"""


def test_a_candidate_of_an_earlier_revision_is_in_quarantine_with_its_reason(to, address):
    to("0018", REFRESH, STOPPED)
    to("0021")
    store = Store.open(address)
    (entry,) = store.quarantine_entries(lasting=True)
    store.close()
    assert (entry.item, entry.stage, entry.reason) == ("c1", "validate", "vague")
    assert (entry.rule, entry.number) == (None, 1)
