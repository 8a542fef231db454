"""What speaks for a task and against it goes with it into its release."""

from datetime import UTC, datetime

import pytest

from stages.release.release import compose, release
from stages.release.reviewing.deciding import decide
from taskdata.schema.construct import CandidateStatus, Construction, ConstructionStep
from taskdata.schema.quarantine import Finding
from taskdata.schema.review import ALL_YES

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RESISTANCE = {
    "faults": [{"fault": "value", "tried": 4, "noticed": 3}],
    "survivors": [{"fault": "value", "deliverable": "out.json", "what": "5 became 6"}],
    "cheats": [{"name": "dump", "score": 1.5}, {"name": "skeleton", "score": None}],
}


@pytest.fixture
def evidence(store, new_task, new_refresh, new_candidate):
    """Release a task after these steps, with two reviewers; return the evidence in its lineage."""

    def made(query: str, **facts: object):
        new_refresh(bank="office", reviewers=2)
        candidate = new_candidate(new_task("one", query=query), Construction.REVIEW)
        step = ConstructionStep(
            candidate_id=candidate.id,
            stage=Construction.VALIDATE,
            attempt=1,
            verdict="violations",
            facts=facts,
            code_version="test",
            at=NOW,
        )
        store.record_step(step)
        finding = Finding(
            gate="gate candidates", rule="harm", reason="asks for harm", value="fraud"
        )
        store.set_candidate(candidate.id, status=CandidateStatus.QUARANTINED, findings=(finding,))
        store.set_candidate(candidate.id, status=CandidateStatus.OPEN)
        current = store.candidate(candidate.id)
        decide(store, current, "approve", "ada", "fine", ALL_YES)
        decide(store, current, "approve", "bob", "", ALL_YES)
        (entry,) = release(store, compose(store, store.refresh("r1"))).lineage
        return entry

    return made


def test_a_release_records_cheats_coverage_safety_and_verdicts(evidence, store):
    violation = {"field": "query", "rule": "personal_data", "message": "an iban at 3"}
    unrelated = {"field": "query", "rule": "tools_named", "message": "names a tool"}
    entry = evidence(
        'Write out.json to [IBAN] and [IBAN], titled "Sums".',
        resistance=RESISTANCE,
        violations=[violation, unrelated],
    )
    found = entry.evidence
    assert (found.adversaries.best_paid.score, found.adversaries.noticed) == (1.5, 3)
    assert found.adversaries.unnoticed == ("out.json: 5 became 6",)
    assert [one.quote for one in found.gaps] == ["Sums"]
    assert {(one.rule, one.became, one.found) for one in found.safety} == {
        ("harm", "mended", "asks for harm (fraud)"),
        ("personal_data", "mended", "query: an iban at 3"),
        ("personal_data", "masked", "iban, 2 times"),
    }
    assert [(one.reviewer, one.comment) for one in found.reviews] == [("ada", "fine"), ("bob", "")]
    assert entry.reviewer == "ada and bob"
    agreement = store.find_release("office").agreement
    assert (agreement.reviewers, agreement.items[0].agreed) == (("ada", "bob"), 1)


def test_no_datum_is_in_the_record_even_if_a_finding_quotes_it(evidence):
    said = {"field": "query", "rule": "personal_data", "message": "DE89 3704 0044 0532 0130 00"}
    (finding, *_) = [
        one
        for one in evidence("Add 2 and 3 up.", violations=[said]).evidence.safety
        if one.rule == "personal_data"
    ]
    assert finding.found == "query: [IBAN]"
