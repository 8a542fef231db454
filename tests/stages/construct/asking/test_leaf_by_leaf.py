"""A tree is written demand by demand, and its coverage map follows from the demands."""

from datetime import UTC, datetime

from stages.construct import checkpoints, classify, generate, validate
from stages.construct.history import COVERAGE_MAP, WEAK
from stages.construct.proof.adversarial.report import CheatScore, Resistance
from taskdata.schema.checkpoint import Judge
from taskdata.schema.construct import CandidateStatus, Construction, ConstructionStep


def drafted(store, connect, refresh):
    generate.do(store, refresh.id, connect)
    (candidate,) = store.candidates(refresh.id)
    return candidate


def test_each_demand_is_a_requirement_in_the_words_of_the_query(
    store, author, connect, started, scripts
):
    author.says("generate", scripts.TASK)
    author.says("leaf", *scripts.LEAVES)
    candidate = drafted(store, connect, started(small_steps=True))
    leaves = [leaf.requirement for leaf in store.draft(candidate.id).checkpoints.leaves()]
    assert leaves == [
        "The file 'totals.json' holds what the query asks for.",
        "The result is as asked for: 'the total'",
        "The result is as asked for: 'the largest and the smallest crop'",
    ]
    asked = [request.rstrip().splitlines()[-2] for request in author.requests("leaf")]
    assert asked == leaves


def test_a_leaf_that_is_scored_like_another_is_asked_for_again(
    store, author, connect, started, scripts
):
    one, two, three = scripts.LEAVES
    author.says("generate", scripts.TASK)
    author.says("leaf", one, one, two, three)
    candidate = drafted(store, connect, started(small_steps=True))
    assert author.asked["leaf"] == 4
    assert "another checkpoint is scored in the same way" in author.requests("leaf")[2]
    assert len(store.draft(candidate.id).checkpoints.leaves()) == 3


def test_a_leaf_that_is_given_again_scores_both_demands(store, author, connect, started, scripts):
    one, two, three = scripts.LEAVES
    demands = [*scripts.DEMANDS["requirements"], {"quote": "40 kg of leek", "leaves": []}]
    author.says("generate", scripts.TASK)
    author.says("requirements", {"requirements": demands})
    author.says("leaf", one, two, three, three, three)
    candidate = drafted(store, connect, started(small_steps=True))
    assert len(store.draft(candidate.id).checkpoints.leaves()) == 3
    named = {
        one["quote"]: one["leaves"] for one in store.steps(candidate.id)[0].facts[COVERAGE_MAP]
    }
    assert named["40 kg of leek"] == named["the largest and the smallest crop"] == ["leaf-3"]


def test_a_file_is_scored_by_a_leaf_that_looks_at_it(store, author, connect, started, scripts):
    one, two, three = scripts.LEAVES
    elsewhere = one | {"check": "answer_number", "args": '{"expected": 55}', "looks_at": []}
    author.says("generate", scripts.TASK)
    author.says("leaf", elsewhere, one, two, three)
    drafted(store, connect, started(small_steps=True))
    assert "the check does not score the demand: 'totals.json'" in author.requests("leaf")[1]


def test_the_coverage_map_is_that_of_the_demands_and_not_asked_for_again(
    store, author, connect, started, scripts
):
    author.says("generate", scripts.TASK)
    author.says("leaf", *scripts.LEAVES)
    refresh = started(small_steps=True)
    candidate = drafted(store, connect, refresh)
    for stage in (classify, validate, checkpoints):
        stage.do(store, refresh.id, connect)
    assert author.asked["requirements"] == 1
    kept = store.steps(candidate.id)[-1]
    assert (kept.stage, kept.verdict) == (Construction.CHECKPOINTS, "kept")
    leaves = {one["quote"]: one["leaves"] for one in kept.facts[COVERAGE_MAP]}
    assert leaves["the total"] == ["leaf-2"]
    assert leaves["the largest and the smallest crop"] == ["leaf-3"]
    assert leaves["totals.json"] == ["leaf-1", "leaf-2", "leaf-3"]


def test_sentences_of_the_query_are_demands_where_a_model_names_too_few(
    store, author, connect, started, scripts
):
    query = "Write the total to totals.json. Round it to whole kilos. State the unit beside it."
    author.says("generate", scripts.changed(scripts.TASK, query=query))
    author.says("requirements", {"requirements": [{"quote": "Write the total", "leaves": []}]})
    author.says("leaf", *scripts.LEAVES)
    drafted(store, connect, started(small_steps=True))
    asked = [request.rstrip().splitlines()[-2] for request in author.requests("leaf")]
    assert asked[2] == "The result is as asked for: 'Write the total to totals.json.'"
    (candidate,) = store.candidates()
    (step,) = store.steps(candidate.id)
    named = [one["quote"] for one in step.facts[COVERAGE_MAP] if one["origin"] == "model"]
    assert named == ["Write the total"], "the model has named nothing else"


def test_a_demand_without_a_usable_answer_has_no_leaf_and_stays_a_gap(
    store, author, connect, started, scripts
):
    wrong = {"check": "no_such_check", "args": "{}", "rubric": "", "looks_at": ["totals.json"]}
    demands = [*scripts.DEMANDS["requirements"], {"quote": "40 kg of leek", "leaves": []}]
    author.says("generate", scripts.TASK)
    author.says("requirements", {"requirements": demands})
    author.says("leaf", *(*scripts.LEAVES, wrong, wrong) * 2)
    refresh = started(small_steps=True, max_asks=2, max_rewrites=0)
    candidate = drafted(store, connect, refresh)
    for stage in (classify, validate, checkpoints):
        stage.do(store, refresh.id, connect)
    stopped = store.candidate(candidate.id)
    assert stopped.status is CandidateStatus.QUARANTINED
    assert "no leaf scores what the query asks for explicitly: '40 kg of leek'" in stopped.reason


def test_what_no_check_could_score_is_left_to_a_judge(store, author, connect, started, scripts):
    wrong = {"check": "no_such_check", "args": "{}", "rubric": "", "looks_at": ["totals.json"]}
    judged = wrong | {"check": "", "args": "", "rubric": "10 if all three figures are there"}
    one, two, _ = scripts.LEAVES
    author.says("generate", scripts.TASK)
    author.says("leaf", one, two, wrong, judged)
    candidate = drafted(store, connect, started(small_steps=True, max_asks=2))
    *checks, last = (leaf.verifier for leaf in store.draft(candidate.id).checkpoints.leaves())
    assert [check.name for check in checks] == ["json_values", "json_values"]
    assert last == Judge(rubric="10 if all three figures are there", deliverables=("totals.json",))
    asked = author.requests("leaf")
    assert "to be scored by a check" in asked[2]
    assert "to be scored by a judge" in asked[3]


def test_a_check_that_paid_a_cheat_gives_way_to_a_judge(store, author, connect, started, scripts):
    judged = {"check": "", "args": "", "rubric": "10 if the total is 55", "looks_at": []}
    one, two, three = scripts.LEAVES
    author.says("generate", scripts.TASK)
    author.says("leaf", one, two, three, one, judged | {"looks_at": ["totals.json"]}, three)
    refresh = started(small_steps=True)
    candidate = drafted(store, connect, refresh)
    for stage in (classify, validate, checkpoints):
        stage.do(store, refresh.id, connect)
    cheat = CheatScore(name="everything dumped", score=5.0, leaves=("leaf-2",))
    found = Resistance(cheats=(cheat,))
    weak = ConstructionStep(
        candidate_id=candidate.id,
        stage=Construction.PROVE,
        attempt=1,
        verdict=WEAK,
        reasons=found.overpaid,
        facts={"resistance": found.model_dump()},
        code_version="test",
        at=datetime.now(UTC),
    )
    store.record_step(weak, stage=Construction.CHECKPOINTS)
    checkpoints.do(store, refresh.id, connect)
    leaves = store.draft(candidate.id).checkpoints.leaves()
    assert [leaf.verifier.kind for leaf in leaves] == ["check", "judge", "check"]
    assert author.asked["requirements"] == 1, "the demands are those of the tree before"
