"""Where a task comes from, and what gates said of it, on the task's page."""

from datetime import UTC, datetime

from dashboards.index import ListedRelease
from dashboards.site.task_records import task_records
from taskdata.schema.gate import GateFailure, GateLevel, GateResult
from taskdata.schema.release import Lineage, ReleaseNotes
from taskdata.schema.statistics import BankStatistics
from taskdata.schema.task import Provenance
from taskdata.schema.withdrawal import Withdrawal
from tests.dashboards.site.nights import first_morning, task_of

SCORES = {"solver": {"a": [8.0], "b": [4.0]}}


def notes(version: int, *task_ids: str, **known) -> ReleaseNotes:
    lineage = [
        Lineage(task_id=t, task_hash=task_of(t).task_hash, proof="proven", origin="seed", **known)
        for t in task_ids
    ]
    return ReleaseNotes(
        release_hash="b" * 64,
        bank="office",
        version=version,
        snapshot_sha256="c" * 64,
        statistics=BankStatistics.model_construct(),
        lineage=tuple(lineage),
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def gate(name: str, *failures: GateFailure, **known) -> GateResult:
    return GateResult(
        gate=name, run_id="x", success=True, rows=2, expectations=3, failures=failures, **known
    )


def failure(text: str, *rows: str) -> GateFailure:
    return GateFailure(expectation=text, level=GateLevel.QUARANTINE, rows=rows)


def test_a_task_has_the_releases_that_hold_it_and_what_gates_found(new_night):
    night = new_night(0, SCORES)
    (trial,) = next(cell.trial_ids for cell in night.cells if cell.task_id == "a")
    gates = {
        "night-0": [
            gate("tasks"),
            gate("leaf_scores", failure("a reason is given", f"{trial}/sum")),
        ],
        "office@2": [gate("seeds", failure("a seed has a licence", "s1"), quarantined=("s1",))],
        "office@9": [gate("bank", failure("of another release", "a"))],
    }
    records = task_records(
        night,
        {task_of("a").task_hash: Provenance(source="forum")},
        [notes(2, "a", seed_id="s1"), notes(1, "a", "b")],
        gates,
        {},
    )
    a, b = records["a"], records["b"]
    assert [release.version for release in a.releases] == ["2", "1"]
    assert [(g.gate, g.of, g.findings) for g in a.gates] == [
        ("tasks", "night-0", ()),
        ("leaf_scores", "night-0", ("quarantine: a reason is given",)),
        ("seeds", "office@2", ("quarantine: a seed has a licence",)),
    ]
    assert (a.provenance.source, b.provenance) == ("forum", None)
    assert [(g.gate, g.findings) for g in b.gates] == [("tasks", ()), ("leaf_scores", ())]


def test_the_page_of_a_task_says_where_it_comes_from_and_leads_to_the_release(page, new_night):
    night = new_night(0, SCORES)
    known = [notes(1, "a", seed_id="<b>s1</b>", reviewer="Ada", models=("gpt-5.2",))]
    records = task_records(night, {}, known, {"night-0": [gate("tasks")]}, {})
    releases = [ListedRelease(bank="office", version="1")]
    found = page(
        [night], first_morning(night), name="tasks/a.html", records=records, releases=releases
    )
    text = found.get_text(" ", strip=True)
    for said in ("office@1", "<b>s1</b>", "Ada", "gpt-5.2", "proven", "nothing against it"):
        assert said in text, said
    assert found.select_one('a[href="../../banks/office/1/index.html"]')


def test_the_page_of_a_withdrawn_task_shows_its_tombstone_and_that_of_another_version_none(
    page, new_night
):
    night = new_night(0, SCORES)
    before = datetime(2026, 3, 2, tzinfo=UTC)
    withdrawals = {
        key: Withdrawal(
            task_hash=key, task_id=task_id, bank="office", reason="<b>web</b>", withdrawn_at=before
        )
        for key, task_id in ((task_of("a").task_hash, "a"), ("d" * 64, "b"))
    }
    records = task_records(night, {}, [], {}, withdrawals)
    told = [
        page([night], first_morning(night), name=f"tasks/{i}.html", records=records).get_text(" ")
        for i in ("a", "b")
    ]
    assert "withdrawn on 2026-03-02: <b>web</b>" in told[0]
    assert "withdrawn on" not in told[1]
