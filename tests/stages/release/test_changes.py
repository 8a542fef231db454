"""What a draft asks for, counted, and the tables made of it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.construct.answers.drafts import draft_from
from stages.release.changes import constraints_in, counts, rewriting_table
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Origin,
)
from taskdata.schema.seed import SeedQuery, StoredSeed
from taskdata.schema.task import Tier

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "constraints"),
    [
        ("I wonder how our harvest went.", 0),
        ("Write a report.", 0),
        ("Write a report of at most 3 pages.", 1),
        ("Write a report of at most 3 pages, sorted by crop, and without charts.", 3),
        ("The table must name each crop; the chart should not.", 2),
        ("Write it.\n- as PDF\n- in blue\n- rounded to kilograms", 2),
        ("", 0),
    ],
)
def test_clauses_that_bind_the_result_are_counted(query, constraints):
    assert constraints_in(query) == constraints


@given(st.text(max_size=200), st.text(max_size=200))
def test_two_texts_one_below_the_other_count_as_much_as_both(one, two):
    assert constraints_in(f"{one}\n{two}") == constraints_in(one) + constraints_in(two)


def test_files_and_the_clauses_that_describe_them_are_deliverable_requirements(new_task):
    task = new_task()
    plain = counts(draft_from(task))
    assert (plain.deliverable_requirements, plain.tools) == (1, task.tools)
    described = task.deliverables[0].model_copy(update={"description": "three figures, in order"})
    assert counts(draft_from(new_task(deliverables=(described,)))).deliverable_requirements == 3


def seed(number: int, source: str) -> StoredSeed:
    query = SeedQuery(text=f"Question {number}", source=source)
    return StoredSeed(id=f"s{number}", query=query, origin="f", added_at=NOW)


def candidate(number: int, status: CandidateStatus, seeded: bool = True) -> Candidate:
    return Candidate(
        id=f"c{number}",
        refresh_id="r",
        task_id=f"t{number}",
        tier=Tier.WORKFLOW,
        origin=Origin.SEED if seeded else Origin.AUGMENTATION,
        seed_id=f"s{number}" if seeded else None,
        stage=Construction.REVIEW,
        status=status,
    )


def step(number: int, stage: Construction, verdict: str, **facts: object) -> ConstructionStep:
    return ConstructionStep(
        candidate_id=f"c{number}",
        stage=stage,
        attempt=1,
        verdict=verdict,
        facts=facts,
        code_version="t",
        at=NOW,
    )


def size(constraints: int, files: int, *tools: str) -> dict[str, object]:
    return {"constraints": constraints, "deliverable_requirements": files, "tools": tools}


def test_the_tables_follow_each_candidate_by_the_source_of_its_seed():
    final, gone = CandidateStatus.RELEASED, CandidateStatus.DELETED
    candidates = [
        candidate(1, final),
        candidate(2, final),
        candidate(3, gone),
        candidate(4, CandidateStatus.QUARANTINED),
        candidate(5, CandidateStatus.APPROVED, seeded=False),
    ]
    seeds = [seed(1, "reddit"), seed(2, "manus"), seed(3, "reddit"), seed(4, "reddit")]
    classify, rewrite = Construction.CLASSIFY, Construction.REWRITE
    steps = [
        step(1, classify, "augmentation"),
        step(1, rewrite, "rewritten", before=size(2, 0, "a"), after=size(5, 1, "a", "b")),
        step(1, rewrite, "rewritten", before=size(5, 1, "a", "b"), after=size(6, 1, "b", "c")),
        step(2, classify, "refinement"),
        step(2, rewrite, "rewritten", before=size(4, 1, "a"), after=size(3, 3, "a")),
        step(3, classify, "deletion"),
        step(5, classify, "pass"),
    ]
    table = rewriting_table(steps, candidates, seeds)
    rows = {row.source: row for row in table.sources}
    assert list(rows) == ["augmentation", "manus", "reddit"]
    reddit = rows["reddit"]
    assert (reddit.initial, reddit.augmentation, reddit.deletion, reddit.unclassified) == (
        3,
        1,
        1,
        1,
    )
    assert (reddit.final, rows["augmentation"].passed) == (1, 1)
    assert (table.total.initial, table.total.final) == (5, 3)

    sizes = {(m.source, m.kind): m for m in table.magnitudes}
    assert set(sizes) == {
        ("reddit", "augmentation"),
        ("manus", "refinement"),
        (None, "augmentation"),
        (None, "refinement"),
    }
    grown = sizes[("reddit", "augmentation")]
    assert (grown.constraints.mean, grown.constraints.percent) == (4, 200)
    assert (grown.deliverable_requirements.mean, grown.deliverable_requirements.percent) == (
        1,
        None,
    )
    assert (grown.tools.mean, grown.tools.percent) == (2, 200)
    assert sizes[(None, "refinement")].constraints.mean == -1


def test_nothing_gives_an_empty_table():
    table = rewriting_table([], [], [])
    assert (table.sources, table.magnitudes, table.total.initial) == ((), (), 0)
