"""Tasks are asked for on behalf of tools that too few tasks use."""

from datetime import UTC, datetime

import pytest

from stages.construct import balance
from stages.construct.atomic.ways import choosable_tools
from stages.construct.rules.book import wanted_tools
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
)
from taskdata.schema.seed import SeedQuery
from taskdata.schema.task import Tier

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
COMMON = tuple(tool for tool in choosable_tools() if tool not in ("Solver", "ReadPDF"))


@pytest.fixture
def seeded(store, new_task, new_candidate):
    """A candidate from a seed of its own, with a draft that allows these tools."""

    def make(name: str, *tools: str, attachment: str | None = None, **status: object) -> Candidate:
        sha256 = store.artifacts.put_bytes(name.encode())
        file = {"path": attachment, "sha256": sha256, "size_bytes": len(name)}
        attachments = (file,) if attachment else ()
        seed = SeedQuery(text=f"{name} please", source="internal", attachments=attachments)
        (seed_id,) = store.add_seeds([seed], [], [], "seeds.csv")
        task = new_task(name, tools=tools)
        new_candidate(task, Construction.PROVE, id=name, seed_id=seed_id)
        if status:
            store.set_candidate(name, **status)
        return store.candidate(name)

    return make


def augmentations(store) -> list[Candidate]:
    return [c for c in store.candidates("r1") if c.origin is Origin.AUGMENTATION]


def test_a_rare_tool_gets_a_task_made_from_a_seed(store, new_refresh, seeded):
    new_refresh()
    used = seeded("sums", *COMMON, "ReadPDF")
    report = balance.do(store, "r1")
    (candidate,) = augmentations(store)
    assert wanted_tools(candidate) == ("Solver",)
    assert (candidate.seed_id, candidate.stage) == (used.seed_id, Construction.GENERATE)
    assert (report.due, report.done) == (1, 1)
    assert "1 tools in fewer than 5% of 1 tasks" in report.note
    assert "Calculator 1" in report.note
    assert "Solver 0" in report.note


def test_a_tool_that_reads_gets_a_seed_with_such_a_file(store, new_refresh, seeded):
    new_refresh()
    seeded("alpha", *COMMON, "Solver")
    scans = seeded("scans", *COMMON, "Solver", attachment="scan.PDF")
    balance.do(store, "r1")
    (candidate,) = augmentations(store)
    assert wanted_tools(candidate) == ("ReadPDF",)
    assert candidate.seed_id == scans.seed_id


def test_without_a_fitting_seed_a_task_of_the_base_is_varied(store, new_refresh, seeded):
    new_refresh(base="starter", tool_floor=1.0, max_augmentations=30)
    balance.do(store, "r1")
    made = augmentations(store)
    assert made
    for candidate in made:
        (tool,) = wanted_tools(candidate)
        task = store.task(candidate.exemplar)
        assert task.tier is Tier.WORKFLOW
        if tool == "ReadPDF":
            assert any(file.path.endswith(".pdf") for file in task.files)


def test_what_did_not_survive_does_not_count(store, new_refresh, seeded):
    new_refresh()
    seeded("sums", *COMMON, "ReadPDF")
    seeded("lost", "Solver", status=CandidateStatus.QUARANTINED, reason="broken")
    balance.do(store, "r1")
    assert [wanted_tools(c) for c in augmentations(store)] == [("Solver",)]


def test_running_again_adds_nothing(store, new_refresh, seeded):
    new_refresh(max_augmentations=2)
    seeded("sums", "Calculator")
    balance.do(store, "r1")
    first = augmentations(store)
    assert len(first) == 2
    report = balance.do(store, "r1")
    assert augmentations(store) == first
    assert report.done == 2


def test_nothing_is_asked_for_where_there_is_nothing_to_make_it_from(store, new_refresh):
    new_refresh()
    report = balance.do(store, "r1")
    assert (report.due, report.done, augmentations(store)) == (0, 0, [])
    assert "of 0 tasks; tasks asked for: 0" in report.note
