"""A release is written once, says what changed and where every task came from."""

from datetime import UTC, datetime

import pytest

from stages.construct.proof.adversarial.report import CheatScore, Resistance
from stages.construct.proof.verdict import ProofVerdict, TaskProof
from stages.release.release import (
    Composition,
    changes,
    compose,
    compose_bank,
    diff,
    release,
    untried,
    with_evidence,
)
from stages.release.reviewing.deciding import approve_all
from taskdata.canary import canary_of
from taskdata.errors import Misuse, StageFailed
from taskdata.schema.construct import CandidateStatus, Construction, Refresh, RefreshConfig
from taskdata.schema.release import Lineage
from taskdata.schema.safety import SafetyRules
from taskdata.schema.task import ReferenceSolution


def composition_of(*tasks, bank="office"):
    lineage = tuple(
        Lineage(task_id=t.id, task_hash=t.content_hash, proof="unproven", origin="base")
        for t in tasks
    )
    return Composition(bank=bank, tasks=tasks, lineage=lineage)


def test_what_is_not_known_of_a_task_is_recorded_once(new_task):
    task = new_task("sums", title="Pay to DE89 3704 0044 0532 0130 00")
    bare = composition_of(task)
    assert untried(bare) == (task,)
    cheat = CheatScore(name="everything dumped", score=1.5)
    proof = TaskProof(
        task_id="sums",
        task_hash=task.content_hash,
        verdict=ProofVerdict.PROVEN,
        resistance=Resistance(cheats=(cheat,)),
    )
    known = with_evidence(bare, {task.content_hash: proof}, SafetyRules())
    (entry,) = known.lineage
    assert entry.evidence.adversaries.best_paid.score == 1.5
    assert [(one.rule, one.became) for one in entry.evidence.safety] == [("personal_data", "kept")]
    assert untried(known) == ()
    assert with_evidence(known, {}, SafetyRules()) == known


def test_an_approved_candidate_is_released_with_the_way_it_took(store, waiting):
    candidate, refresh = waiting, store.refresh(waiting.refresh_id)
    approve_all(store, refresh.id, "kirsten", "reads well")
    notes = release(store, compose(store, refresh))

    (entry,) = notes.lineage
    assert (entry.task_id, entry.origin, entry.proof) == ("add-things-up", "seed", "unproven")
    assert (entry.prompts, entry.models) == (("generate@1",), ("gpt-5.2-2026",))
    assert (entry.reviewer, entry.seed_source) == ("kirsten", "internal")
    (change,) = notes.changes
    assert change.kind == "added"
    assert "approved by kirsten" in change.why
    assert store.candidate(candidate.id).status is CandidateStatus.RELEASED
    (task,) = store.tasks_of_release(notes.release_hash).values()
    assert task.provenance.seed_id == candidate.seed_id
    assert task.canary == canary_of("office")


def test_a_release_counts_the_kinds_of_references(store, waiting, new_task, new_candidate):
    refresh = store.refresh(waiting.refresh_id)
    solution = ReferenceSolution(steps=(), final_answer="42")
    new_candidate(new_task("solved", reference=solution), Construction.REVIEW)
    approve_all(store, refresh.id, "kirsten", "reads well")
    notes = release(store, compose(store, refresh))
    assert notes.references == {"self_consistent": 1, "none": 1}
    assert store.find_release("office").references == notes.references


def test_a_base_that_was_released_keeps_what_is_known_of_its_references(store, new_task):
    confirmed = new_task("a", reference=ReferenceSolution(steps=(), final_answer="42"))
    known = Lineage(
        task_id="a",
        task_hash=confirmed.content_hash,
        proof="proven",
        origin="seed",
        reference="twice",
    )
    release(store, Composition(bank="office", tasks=(confirmed,), lineage=(known,)))
    config = RefreshConfig(
        bank="more", base="office", model={"provider": "openai", "model": "gpt-5.2"}
    )
    refresh = Refresh(
        id="r2", status="running", config=config, code_version="test", created_at=datetime.now(UTC)
    )
    (entry,) = compose(store, refresh).lineage
    assert (entry.origin, entry.reference) == ("base", "twice")


def test_a_release_that_came_out_meanwhile_is_not_overruled(store, waiting, new_task):
    refresh = store.refresh(waiting.refresh_id)
    approve_all(store, refresh.id, "kirsten", "reads well")
    composed = compose(store, refresh)
    release(store, composition_of(new_task("of-another-refresh")))
    with pytest.raises(StageFailed, match="office@1 came out while this one was being proven"):
        release(store, composed)

    assert [notes.version for notes in store.release_notes("office")] == [1]
    assert store.candidate(waiting.id).status is CandidateStatus.APPROVED
    assert release(store, compose(store, refresh)).version == 2


def test_notes_that_build_on_an_older_release_are_refused(store, new_task):
    first = release(store, composition_of(new_task("a")))
    second = release(store, composition_of(new_task("b")))
    late = second.model_copy(update={"release_hash": "0" * 64, "previous_hash": first.release_hash})
    with pytest.raises(StageFailed, match="office@2 came out meanwhile"):
        store.add_release_notes(late)


def test_what_nobody_approved_is_not_released(store, waiting):
    refresh = store.refresh(waiting.refresh_id)
    with pytest.raises(Misuse, match="would be empty; approve some candidates"):
        release(store, compose(store, refresh))


def test_releasing_again_gives_the_notes_of_then(store, new_task):
    first = release(store, composition_of(new_task("a")))
    again = release(store, composition_of(new_task("a")))
    assert again == first
    assert first.version == 1
    assert len(store.release_notes("office")) == 1


def test_a_changed_bank_is_a_new_version_with_a_changelog(store, new_task):
    release(store, composition_of(new_task("a"), new_task("b")))
    notes = release(store, composition_of(new_task("b", title="Another"), new_task("c")))
    assert notes.version == 2
    assert {(c.task_id, c.kind, c.fields) for c in notes.changes} == {
        ("a", "removed", ()),
        ("b", "changed", ("title",)),
        ("c", "added", ()),
    }
    assert diff(store, "office@1", "office") == notes.changes
    assert [c.kind for c in diff(store, "office@2", "office@1")] == ["added", "changed", "removed"]
    assert diff(store, notes.release_hash[:12], "office@2") == ()


def test_the_snapshot_holds_the_tasks_byte_for_byte(store, new_task):
    notes = release(store, composition_of(new_task("b"), new_task("a")))
    lines = store.artifacts.read_bytes(notes.snapshot_sha256).decode().splitlines()
    assert lines == [new_task("a").canonical_json(), new_task("b").canonical_json()]


@pytest.mark.parametrize("version", ["", "x", "-1", "²", "9" * 30])
def test_a_version_is_a_number_of_bearable_length(store, version):
    with pytest.raises(Misuse, match="expected bank@version"):
        diff(store, f"office@{version}", "office")


def test_an_unknown_release_is_named_with_those_there_are(store, new_task):
    release(store, composition_of(new_task("a")))
    with pytest.raises(Misuse, match="'office@7' is not in the store; there are: office@1"):
        diff(store, "office@7", "office@1")


def test_the_same_tasks_differ_in_nothing(new_task):
    assert changes([new_task("a")], [new_task("a")], ()) == ()


def test_a_bundled_bank_can_be_released_as_it_is(store):
    notes = release(store, compose_bank("starter"))
    assert notes.bank == "starter"
    assert {entry.origin for entry in notes.lineage} == {"base"}
    assert notes.statistics.tasks == len(notes.lineage)
