"""Pages as they are published: what they link to lies beside them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from flows.banks.releasing import publish_bank
from flows.cli.runs.dashboard import dashboard
from flows.cli.runs.reading import report
from flows.config import Settings, load_settings
from flows.publishing import publish
from flows.site import write_all
from stages.prepare.confirm import confirmation_id
from stages.release.release import compose, release
from stages.release.reviewing.deciding import approve_all
from taskdata.schema.construct import (
    Construction,
    ConstructionStep,
    Refresh,
)
from taskdata.schema.gate import GateResult
from taskdata.schema.run import RunStatus
from taskdata.schema.seed import SeedQuery
from taskdata.store import Store

NIGHT = datetime(2026, 3, 1, 22, tzinfo=UTC)


@pytest.fixture
def settings(home: Path) -> Settings:
    home.mkdir()
    return load_settings()


@pytest.fixture
def store(settings: Settings, open_store):
    """The store of the command's own home."""
    opened = open_store(settings.address)
    yield opened
    opened.close()


@pytest.fixture
def gated(store, new_run):
    """A run with one gate on record, Data Docs and all."""
    run = new_run()
    store.record_gate(held("tasks", run.id, store))
    return run


def held(gate: str, subject: str, store: Store) -> GateResult:
    docs = store.artifacts.put_bytes(f"<p>Data Docs of {gate}</p>".encode())
    return GateResult(
        gate=gate, run_id=subject, success=True, rows=1, expectations=1, docs_sha256=docs
    )


def links_to_files(page: Path) -> list[str]:
    anchors = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").find_all("a")
    return [a["href"] for a in anchors if not a["href"].startswith("#")]


def test_a_dashboard_has_the_data_docs_of_its_gates_beside_it(settings, store, gated):
    publish(settings, store, gated.id)
    folder = settings.run_folder(gated.id)
    night, docs = links_to_files(folder / "dashboard.html")
    assert (folder / night).resolve() == settings.site_folder / "nights" / f"{gated.id}.html"
    assert (folder / night).is_file()
    assert docs == "gates/tasks.html"
    assert "Data Docs of tasks" in (folder / "gates" / "tasks.html").read_text()


def test_publishing_reads_the_trials_of_the_run_once(settings, store, gated, monkeypatch):
    read, results = [], store.results
    monkeypatch.setattr(store, "results", lambda run_id: read.append(run_id) or results(run_id))
    publish(settings, store, gated.id)
    assert read == [gated.id]


def test_a_published_run_is_the_morning_and_a_night_of_the_list(settings, store, gated):
    report = publish(settings, store, gated.id)
    site = settings.site_folder
    assert str(site / "index.html") in report.note
    links = {link for page in ("index.html", "nights.html") for link in links_to_files(site / page)}
    assert f"../runs/{gated.id}/dashboard.html" in links
    assert f"nights/{gated.id}.html" in links
    links.remove("../list.html")  # shown only where the pages are served
    assert {link for link in links if not (site / link).resolve().is_file()} == set()


def test_pages_of_runs_that_were_never_among_the_nights_are_made_at_once(settings, store, gated):
    store.set_run_status(gated.id, RunStatus.COMPLETED)
    assert not settings.site_folder.exists()
    written = write_all(settings, store)
    assert written.page.is_file()
    assert links_to_files(settings.site_folder / "nights.html").count(f"nights/{gated.id}.html")


def test_the_command_writes_the_page_where_there_is_none_and_says_where(
    settings, store, gated, capsys
):
    store.set_run_status(gated.id, RunStatus.COMPLETED)
    dashboard(path=True)
    page = settings.site_folder / "index.html"
    assert capsys.readouterr().out == f"{page}\n"
    written = page.stat().st_mtime_ns
    dashboard(path=True)
    assert page.stat().st_mtime_ns == written


def test_a_report_of_the_run_itself_keeps_the_links(settings, gated):
    report(gated.id)
    folder = settings.run_folder(gated.id)
    assert links_to_files(folder / "dashboard.html") == ["gates/tasks.html"]
    assert (folder / "gates" / "tasks.html").exists()


@pytest.mark.usefixtures("settings")
def test_a_report_in_a_file_of_ones_own_stands_alone(gated, tmp_path):
    page = tmp_path / "sent" / "night.html"
    report(gated.id, page)
    assert links_to_files(page) == []
    assert [path.name for path in page.parent.iterdir()] == ["night.html"]


def test_a_release_shows_its_refresh_with_gates_and_rewriting(settings, store, rewritten):
    store.record_bank_gate(held("bank", rewritten.id, store))
    approve_all(store, rewritten.id, "kirsten", "reads well")
    notes = release(store, compose(store, rewritten))
    page = publish_bank(settings, store, notes)
    assert page == settings.bank_folder("office") / "1" / "index.html"
    assert links_to_files(page) == ["gates/bank.html"]
    assert "Data Docs of bank" in (page.parent / "gates" / "bank.html").read_text()
    html = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    row = html.select_one('[aria-label="What rewriting added"] tbody tr')
    assert [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])] == [
        *("internal", "augmentation", "1"),
        *("+2.00 +100\u00a0%", "0.00 0\u00a0%", "+1.00 +100\u00a0%"),
    ]


@pytest.fixture
def rewritten(store, new_task, new_refresh, new_candidate) -> Refresh:
    """A refresh whose candidate was augmented and waits for review."""
    (seed,) = store.add_seeds([SeedQuery(text="add things up", source="internal")], [], [], "f")
    refresh = new_refresh(bank="office")
    task = new_task("add-things-up")
    new_candidate(task, Construction.CLASSIFY, id="c1", seed_id=seed)
    counts = {"constraints": 2, "deliverable_requirements": 1, "tools": ("finish",)}
    more = counts | {"constraints": 4, "tools": ("finish", "write_file")}
    record(store, Construction.CLASSIFY, "augmentation")
    record(store, Construction.REWRITE, "rewritten", facts={"before": counts, "after": more})
    store.set_candidate("c1", stage=Construction.REVIEW)
    return refresh


def record(store: Store, stage: Construction, verdict: str, **known: object) -> None:
    fields = {"candidate_id": "c1", "attempt": 1, "code_version": "test", "at": NIGHT}
    step = ConstructionStep.model_validate(fields | {"stage": stage, "verdict": verdict} | known)
    store.record_step(step)


def test_the_re_run_that_a_morning_leads_to_has_a_page(settings, store, gated):
    config = gated.config.model_copy(update={"purpose": "confirmation", "confirms": gated.id})
    again = {"id": confirmation_id(gated.id), "status": RunStatus.COMPLETED, "config": config}
    store.add_run(gated.model_copy(update=again))
    publish(settings, store, gated.id)
    page = settings.run_folder(confirmation_id(gated.id)) / "dashboard.html"
    assert f"Run {confirmation_id(gated.id)}" in page.read_text(encoding="utf-8")
