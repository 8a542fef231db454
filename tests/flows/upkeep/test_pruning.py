"""`nightshift prune` says what is old, and removes it where it is told to."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.config import Settings
from flows.locks import run_lock, upkeep_lock
from flows.serving.deployments import deployments
from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from taskdata.schema.run import RunStatus


@pytest.fixture
def aged(store):
    """Make all artifacts old enough to be removed."""

    def age() -> None:
        old = (datetime.now(UTC) - timedelta(days=2)).timestamp()
        for path in Path(store.address.artifacts_url.removeprefix("file://")).rglob("*/*"):
            os.utime(path, (old, old))

    return age


def ids(store) -> list[str]:
    return [run.id for run in store.runs()]


def test_without_a_rule_it_says_what_to_give(command):
    done = command("prune")
    assert done.returncode == 2
    assert "--older-than 30d, --keep 60" in done.stderr


@pytest.mark.parametrize("wrong", ["30", "d", "-1d", "3 months"])
def test_an_age_that_is_none_is_named(command, wrong):
    done = command("prune", "--older-than", wrong)
    assert done.returncode == 2
    assert f"{wrong!r} is no age; expected such as 36h, 30d or 8w" in done.stderr


def test_nothing_goes_before_yes_and_then_rows_files_and_pages(
    command, store, settings, recorded, aged
):
    new, old = recorded("new", 1), recorded("old", 40)
    aged()
    said = command("prune", "--older-than", "30d").stdout
    assert "1 run would go" in said
    assert "Nothing was removed; --yes does it" in said
    assert ids(store) == [new.run.id, old.run.id]

    plan = json.loads(command("prune", "--older-than", "30d", "--json").stdout)
    assert [run["id"] for run in plan["runs"]] == [old.run.id]
    assert (plan["artifacts"], plan["young"]) == (len(old.own), 0)
    assert plan["artifact_bytes"] == sum(len(store.artifacts.read_bytes(name)) for name in old.own)
    with run_lock(settings, old.run.id):
        pass  # a night has worked on it

    assert command("prune", "--older-than", "30d", "--yes").returncode == 0
    assert ids(store) == [new.run.id]
    assert not settings.run_folder(old.run.id).exists()
    assert settings.run_folder(new.run.id).exists()
    assert not list(settings.home.glob(f"locks/{old.run.id}*"))
    assert {name for name, _ in store.artifacts.listed()} == new.own | new.common


def test_a_run_that_age_or_number_keeps_stays(command, store, recorded, aged):
    runs = [recorded(f"t{days}", days).run.id for days in (1, 40, 50)]
    aged()
    assert command("prune", "--older-than", "30d", "--keep", "2", "--yes").returncode == 0
    assert ids(store) == runs[:2]
    assert command("prune", "--keep", "1", "--yes").returncode == 0
    assert ids(store) == runs[:1]


def test_a_rescoring_goes_with_its_source_or_after_it(
    command, store, recorded, aged, settings, new_run
):
    def rescored(source, name, days):
        from taskdata.tables import RunRow

        config = rescoring_config(store.run(source.run.id))
        run = plan_rescoring(store, store.run(source.run.id), config, name)
        copy_trials(store, run)
        store.set_run_status(run.id, RunStatus.COMPLETED)
        began = datetime.now(UTC) - timedelta(days=days)
        with store._writing() as session:
            row = session.get_one(RunRow, run.id)
            row.created_at = row.finished_at = began
        return run.id

    new, old, older = recorded("new", 1), recorded("old", 40), recorded("older", 50)
    with_new, with_old = rescored(new, "a", 1), rescored(old, "a", 39)
    later = rescored(older, "later", 2)
    aged()
    kept = {new.run.id, with_new, later}

    # Its number keeps evaluations alone, and the rescorings of those.
    assert command("prune", "--keep", "1", "--older-than", "30d", "--yes").returncode == 0
    assert set(ids(store)) == kept
    assert with_old not in ids(store)

    # What a rescoring rests on stays while it does.
    outcomes = [r.outcome for r in store.results(later) if r.trial.agent == "nop"]
    assert [store.transcript_of(o).final_answer for o in outcomes] == [t.id for t in older.trials]
    assert all(store.artifacts.read_bytes(f.sha256) for o in outcomes for f in o.deliverables)


def test_settings_hold_where_the_command_says_nothing(command, store, recorded, aged, tmp_path):
    one, two, three = (recorded(f"t{days}", days).run.id for days in (40, 50, 60))
    aged()
    (tmp_path / "nightshift.toml").write_text(
        f'[retention]\nolder_than = "30d"\nkeep = 1\nalways_keep = ["{three}"]\n'
    )
    assert command("prune", "--yes").returncode == 0
    assert ids(store) == [one, three]
    assert two not in ids(store)


def test_what_is_needed_stays_however_old(command, store, settings, recorded, aged):
    new, linked, busy, failed = (
        recorded("new", 1),
        recorded("linked", 40),
        recorded("busy", 41),
        recorded("failed", 42, RunStatus.FAILED),
    )
    aged()
    page = settings.run_folder(new.run.id) / "dashboard.html"
    page.write_text(f'<a href="../{linked.run.id}/dashboard.html#tasks">the night before</a>')
    with run_lock(settings, busy.run.id):
        said = command("prune", "--older-than", "30d", "--yes").stdout
    assert ids(store) == [run.run.id for run in (new, linked, busy, failed)]
    for reason in ("pages of runs that stay link to them", "at work on them", "--unfinished"):
        assert f"1 stay: {reason}" in said or reason in said
    assert store.paid_calls(failed.trials[0].id)

    command("prune", "--older-than", "30d", "--unfinished", "--yes")
    assert ids(store) == [new.run.id, linked.run.id]


def test_the_night_of_a_run_that_is_gone_stays_and_pages_find_what_says_so(
    command, store, settings, recorded, new_run, aged
):
    kept, old, linked = (recorded(f"t{days}", days).run for days in (1, 40, 50))
    again = new_run(agents=("nop",), purpose="confirmation", confirms=old.id)
    store.set_run_status(again.id, RunStatus.COMPLETED)
    aged()
    mornings = settings.site_folder / "nights"
    mornings.mkdir(parents=True)
    link = f'<a href="../../runs/{linked.id}/dashboard.html#task-linked">the night before</a>'
    (mornings / f"{kept.id}.html").write_text(link)

    command("prune", "--older-than", "30d", "--yes")

    assert ids(store) == [kept.id, linked.id]
    assert store.confirming_runs() == {}, "a re-run goes with what it confirms"
    assert {night.run_id for night in store.nights()} >= {old.id, kept.id}
    left = (settings.run_folder(old.id) / "dashboard.html").read_text()
    assert f"Run {old.id} was removed by <code>nightshift prune</code>" in left


def test_a_re_run_that_failed_or_was_left_behind_goes_with_what_it_confirms(
    command, store, recorded, aged
):
    kept, old = recorded("kept", 1).run, recorded("old", 40).run
    for name, confirms, status in (
        ("failed", old.id, RunStatus.FAILED),
        ("behind", "pruned-long-ago", RunStatus.COMPLETED),
        ("needed", kept.id, RunStatus.COMPLETED),
    ):
        config = kept.config.model_copy(update={"purpose": "confirmation", "confirms": confirms})
        store.add_run(kept.model_copy(update={"id": name, "status": status, "config": config}))
    aged()
    command("prune", "--older-than", "30d", "--yes")
    assert store.confirming_runs() == {"needed": kept.id}


def test_young_files_wait_for_a_later_prune(command, store, recorded, aged):
    going = recorded("going", 40)
    said = command("prune", "--older-than", "30d", "--yes").stdout
    assert "0 runs removed" in said
    assert "less than a day old and may be in use; a later prune removes them" in said
    assert (ids(store), store.being_removed()) == ([], [going.run.id])
    aged()
    assert "1 run removed" in command("prune", "--older-than", "999d", "--yes").stdout
    assert (store.being_removed(), list(store.artifacts.listed())) == ([], [])


def test_a_run_that_is_being_removed_cannot_be_resumed(command, store, recorded):
    run_id = recorded("going", 40).run.id
    command("prune", "--older-than", "30d", "--yes")
    done = command("run", "--resume", run_id)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is being removed; `nightshift prune --yes` finishes that" in done.stderr


def test_one_prune_at_a_time(command, settings, store, recorded):
    recorded("going", 40)
    with upkeep_lock(settings):
        done = command("prune", "--keep", "0", "--yes")
    assert done.returncode == 2
    assert "a prune, a backup or a restore is at work here" in done.stderr


def test_a_served_installation_prunes_where_a_rule_is_set(home):
    assert not any(one.name == "prune" for one in deployments(Settings()))
    rule = {"older_than": "30d", "schedule": "15 12 * * *"}
    (pruning,) = [o for o in deployments(Settings(retention=rule)) if o.name == "prune"]
    (scheduled,) = pruning.schedules
    assert scheduled.schedule.cron == "15 12 * * *"


def test_prefect_is_told_how_long_it_keeps_flow_runs(settings):
    kept = os.environ["PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD"]
    assert int(kept) == settings.retention.prefect.total_seconds()
