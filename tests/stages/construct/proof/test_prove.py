"""Candidates are proven by their own solution and by nobody."""

import sys

import pytest

import stages.execute.work as executing
from stages.construct.history import tree_weaknesses
from stages.construct.proof import prove
from stages.construct.proof.bank import prove_bank
from stages.construct.proof.verdict import ProofVerdict
from stages.score.check import CheckArgs, CheckSpec, passed
from stages.score.checking import process
from stages.score.library import check_library
from taskdata.errors import Misuse, SandboxFailed
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.construct import CandidateStatus, Construction
from taskdata.store import Store, StoreAddress


def root(*children: Checkpoint) -> Checkpoint:
    return Checkpoint(id="root", requirement="It is right.", children=children)


CARELESS = """
import sys
from stages.score.check import CheckArgs, CheckSpec, passed
from stages.score.checking import process
from stages.score.checking.worker import main
from stages.score.library import check_library

def careless(answer, args):
    return passed("no word wrong")

check_library()["careless"] = CheckSpec("careless", CheckArgs, (str,), careless)
sys.exit(main())
"""


@pytest.fixture
def free_points(monkeypatch, tmp_path) -> Checkpoint:
    """A leaf whose check, carelessly written, is content with an empty answer."""
    # Checks run in another process: there it gives points, here it only has to be known.
    known = CheckSpec("careless", CheckArgs, (str,), lambda answer, args: passed(""))
    monkeypatch.setitem(check_library(), "careless", known)
    program = tmp_path / "careless.py"
    program.write_text(CARELESS)
    monkeypatch.setattr(process, "PROGRAM", (sys.executable, str(program)))
    return Checkpoint(id="words", requirement="No wrong word.", verifier=Check(name="careless"))


def test_a_solution_that_earns_all_is_proof(store, bring, sums):
    (candidate,) = bring(sums())
    report = prove.do(store, "r1")
    assert (report.due, report.done, report.note) == (1, 1, "1 proven")
    step = store.steps(candidate.id)[-1]
    assert (step.stage, step.verdict, step.reasons) == (Construction.PROVE, "proven", ())
    assert step.facts["reference_score"] == pytest.approx(10)
    assert step.facts["nop_score"] == 0
    assert store.candidate(candidate.id).stage is Construction.REVIEW


def test_without_a_solution_a_task_stays_unproven(store, bring, sums):
    (candidate,) = bring(sums(expression=None))
    prove.do(store, "r1")
    step = store.steps(candidate.id)[-1]
    assert (step.verdict, step.reasons) == ("unproven", ("it has no reference solution",))
    assert store.candidate(candidate.id).stage is Construction.REVIEW


def test_a_solution_that_falls_short_stops_the_candidate(store, bring, sums):
    tree = root(
        *sums().checkpoints.children,
        sums()
        .checkpoints.children[0]
        .model_copy(
            update={
                "id": "crop",
                "verifier": Check(name="answer_contains", args={"all": [["leek"]]}),
            }
        ),
    )
    (candidate,) = bring(sums(checkpoints=tree))
    prove.do(store, "r1")
    candidate = store.candidate(candidate.id)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert candidate.stage is Construction.PROVE
    assert candidate.reason.startswith("the reference solution earns 5.00 of 10; leaf crop: 0.00 (")
    assert store.steps(candidate.id)[-1].verdict == "failed"


def test_a_tree_that_pays_for_nothing_stops_the_candidate(store, bring, sums, free_points):
    (candidate,) = bring(sums(checkpoints=root(*sums().checkpoints.children, free_points)))
    prove.do(store, "r1")
    candidate = store.candidate(candidate.id)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert candidate.reason.startswith("doing nothing earns 5.00, more than 1; leaf words: 10.00 (")


def test_what_only_a_judge_could_score_proves_nothing(store, sums):
    judged = Checkpoint(id="tone", requirement="Friendly.", verifier=Judge(rubric="10: friendly"))
    proofs = prove_bank(store, [task := sums(checkpoints=root(judged))], {}, "bubblewrap")
    proof = proofs[task.content_hash]
    assert proof.verdict is ProofVerdict.UNPROVEN
    assert (proof.reference_score, proof.nop_score, proof.coverage) == (None, None, 0)


def test_a_task_that_cannot_be_played_fails_alone(store, sums):
    broken = sums("broken", tools=("Telescope",))
    proofs = prove_bank(store, [broken, sound := sums()], {}, "bubblewrap")
    assert proofs[sound.content_hash].verdict is ProofVerdict.PROVEN
    assert proofs[broken.content_hash].verdict is ProofVerdict.FAILED
    assert "Telescope" in proofs[broken.content_hash].reasons[0]


def test_a_proof_is_not_listed_as_an_evaluation(store, new_run, sums):
    proof = prove_bank(store, [task := sums()], {}, "bubblewrap")[task.content_hash]
    assert store.run(proof.run_id).config.purpose == "proof"
    assert store.runs() == []
    with pytest.raises(Misuse, match="no run yet"):
        store.latest_run()
    run = new_run()
    assert store.latest_run().id == run.id


@pytest.mark.postgres
def test_proofs_and_evaluations_are_told_apart_on_postgres(postgres_url, tmp_path, sums):
    address = StoreAddress(database_url=postgres_url, artifacts_url=f"file://{tmp_path}/a")
    store = Store.open(address)
    proof = prove_bank(store, [task := sums()], {}, "bubblewrap")[task.content_hash]
    assert proof.verdict is ProofVerdict.PROVEN
    assert len(store.proof_trials([task.content_hash])) == 2
    assert store.runs() == []
    store.close()


def test_what_was_proven_is_not_played_again(store, sums, monkeypatch):
    old = sums()
    before = prove_bank(store, [old], {}, "bubblewrap")
    played = []
    real = executing.execute_trials

    def watching(store, run_id, trial_ids, *others):
        played.extend(trial_ids)
        return real(store, run_id, trial_ids, *others)

    monkeypatch.setattr(executing, "execute_trials", watching)
    after = prove_bank(store, [old, sums("more")], {}, "bubblewrap")
    assert after[old.content_hash] == before[old.content_hash]
    assert {store.trial(i).task_id for i in played} == {"more"}


def test_a_pass_that_was_cut_short_is_taken_up_where_it_stopped(store, bring, sums, monkeypatch):
    first, second = bring(sums("first"), sums("second"))
    real = executing.run_trial
    ended = []

    async def dies_after_one(shared, due):
        if ended:
            raise KeyboardInterrupt
        ended.append(due.trial.id)
        return await real(shared, due)

    with monkeypatch.context() as patch:
        patch.setattr(executing, "run_trial", dies_after_one)
        with pytest.raises(KeyboardInterrupt):
            prove.do(store, "r1")
    assert store.candidate(first.id).stage is Construction.PROVE
    report = prove.do(store, "r1")
    assert report.note == "2 proven"
    trials = store.proof_trials([store.steps(c.id)[-1].facts["task_hash"] for c in (first, second)])
    assert [store.outcome(trial.id).attempt for trial in trials] == [1, 1, 1, 1]
    assert prove.do(store, "r1").due == 0


def test_lost_trials_leave_the_candidate_due(store, bring, sums, monkeypatch):
    (candidate,) = bring(sums())

    async def loses(*_args):
        raise SandboxFailed("the host is out of disk")

    with monkeypatch.context() as patch:
        patch.setattr("stages.execute.trial.run_agent", loses)
        report = prove.do(store, "r1")
    assert (report.due, report.done, report.errors) == (1, 0, 1)
    assert "out of disk" in report.note
    assert store.candidate(candidate.id).status is CandidateStatus.OPEN
    assert prove.do(store, "r1").note == "1 proven"


def generous(sums, **changes):
    """A task whose tree asks for a word that its query has."""
    tree = root(
        Checkpoint(
            id="apples",
            requirement="The number of apples, 42, is given.",
            verifier=Check(name="answer_contains", args={"all": [["apples"]]}),
        )
    )
    return sums(checkpoints=tree, **changes)


def test_a_tree_that_pays_cheats_is_sent_back_and_after_its_rounds_quarantined(store, bring, sums):
    (candidate,) = bring(generous(sums, expression=None), max_rewrites=1)
    prove.do(store, "r1")
    step = store.steps(candidate.id)[-1]
    assert (step.verdict, store.candidate(candidate.id).stage) == ("weak", Construction.CHECKPOINTS)
    assert "earns 10.00, more than 3" in step.reasons[0]
    assert tree_weaknesses(store.steps(candidate.id))[0].message == step.reasons[0]

    store.record_step(
        step.model_copy(update={"stage": Construction.CHECKPOINTS, "verdict": "regenerated"}),
        stage=Construction.PROVE,
    )
    assert tree_weaknesses(store.steps(candidate.id)) == ()
    prove.do(store, "r1")
    candidate = store.candidate(candidate.id)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "earns 10.00, more than 3" in candidate.reason


def test_faults_that_a_tree_does_not_notice_send_it_back_with_them(store, bring, sums):
    task = generous(sums)
    reference = task.reference.model_copy(update={"final_answer": "There are 42 apples."})
    (candidate,) = bring(task.model_copy(update={"reference": reference}))
    prove.do(store, "r1")
    step = store.steps(candidate.id)[-1]
    assert step.verdict == "weak"
    assert (
        "the tree does not notice it: the final answer: 42 is 52 wherever it stands" in step.reasons
    )
