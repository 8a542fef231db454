"""The documented run without its gates and sandboxes: 25 rows, and what becomes of each."""

from collections import Counter

import pytest

from stages.construct import checkpoints
from stages.construct.start import start_refresh
from stages.intake.rows import Defaults
from stages.intake.work import SeedFile, add_files
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import CandidateStatus, Construction, RefreshConfig
from taskdata.store import Store, StoreAddress

FILES = ("internal.jsonl", "forum.csv", "platform.yaml")


@pytest.fixture(scope="module")
def run(tmp_path_factory, base_url, seeds_folder, construct):
    """The seeds taken in and every stage that asks the model gone through."""
    home = tmp_path_factory.mktemp("documented")
    store = Store.open(
        StoreAddress(database_url=f"sqlite:///{home}/n.db", artifacts_url=f"file://{home}/a")
    )
    taken_in = add_files(store, [SeedFile.at(seeds_folder / f) for f in FILES], Defaults())
    reports = list(taken_in.files.values())
    model = ModelSpec(provider="compatible", model="scripted")
    start_refresh(
        store, RefreshConfig(bank="office", base=None, model=model, base_url=base_url), "r1"
    )
    stages = construct(store, "r1")
    yield store, reports, stages
    store.close()


def step(store, words, stage):
    """Return the steps at a stage of the candidate whose id begins with these words."""
    (candidate,) = [c for c in store.candidates("r1") if c.task_id.startswith(words)]
    return [s for s in store.steps(candidate.id) if s.stage is stage]


def test_two_of_the_25_rows_do_not_get_in(run):
    _, reports, _ = run
    assert sum(report.rows for report in reports) == 25
    assert sum(len(report.added) for report in reports) == 23
    refused = [(row.row, row.field) for report in reports for row in report.rejected]
    assert refused == [(11, "attachments"), (12, "text")]
    assert [report.duplicates for report in reports] == [0, 2, 0]


def test_a_seed_word_for_word_like_another_is_left_out(run):
    store, _, _ = run
    (start,) = store.refresh_stages("r1")
    assert (start.due, start.done) == (23, 22)


def test_nineteen_drafts_are_ready_to_be_proven(run):
    store, _, stages = run
    assert all(report.errors == 0 for report in stages)
    became = Counter((c.status, c.stage) for c in store.candidates("r1"))
    assert became == {
        (CandidateStatus.OPEN, Construction.PROVE): 19,
        (CandidateStatus.DELETED, Construction.CLASSIFY): 1,
        (CandidateStatus.QUARANTINED, Construction.GENERATE): 1,
        (CandidateStatus.QUARANTINED, Construction.VALIDATE): 1,
    }


def test_the_classifier_says_all_it_can_say(run):
    store, _, _ = run
    said = Counter(
        s.verdict
        for c in store.candidates("r1")
        for s in store.steps(c.id)
        if s.stage is Construction.CLASSIFY
    )
    assert said == {"augmentation": 8, "refinement": 10, "pass": 2, "deletion": 1}


def test_answers_that_will_not_do_are_asked_for_again(run):
    store, _, _ = run
    for words, fault in (("help-the-boiler", "not JSON"), ("i-need-to-convince", "1 leaves")):
        (drafted,) = step(store, words, Construction.GENERATE)
        assert drafted.calls == 2
        assert fault in drafted.facts["answers_refused"][0]
    (asked_back,) = step(store, "can-u-help-me", Construction.GENERATE)
    assert (asked_back.calls, asked_back.verdict) == (3, "invalid")


def test_a_draft_that_gives_the_work_away_is_stopped_and_mended(run):
    store, _, _ = run
    stopped, clean = step(store, "design-a-bookmark", Construction.VALIDATE)
    rules = {violation["rule"] for violation in stopped.facts["violations"]}
    assert rules == {"names_tool", "prescribes_steps", "injection"}
    assert clean.verdict == "clean"


def test_an_injected_draft_is_never_clean(run):
    store, _, _ = run
    verdicts = [s.verdict for s in step(store, "compare-two-phone", Construction.VALIDATE)]
    assert verdicts == ["violations"] * 4


def test_a_weak_tree_is_mended_even_if_examples_make_the_prompt_long(run, base_url, construct):
    """Which examples are shown, and how long they are, depends on the id of the refresh."""
    store, _, _ = run
    (seed,) = [s.id for s in store.seeds() if "small bakery" in s.query.text]
    model = ModelSpec(provider="compatible", model="scripted")
    config = RefreshConfig(
        bank="other", model=model, base_url=base_url, seeds=(seed,), max_prompt_tokens=6_000
    )
    start_refresh(store, config, "r2")
    construct(store, "r2")
    (candidate,) = store.candidates("r2")
    blank = "the tree does not notice it: waste.png: it is blank: one colour, or silence"
    weak = store.steps(candidate.id)[-1].model_copy(
        update={"stage": Construction.PROVE, "verdict": "weak", "reasons": (blank,), "attempt": 1}
    )
    store.record_step(weak, stage=Construction.CHECKPOINTS)
    checkpoints.do(store, "r2")
    mended = store.steps(candidate.id)[-1]
    assert (mended.stage, mended.verdict) == (Construction.CHECKPOINTS, "regenerated")
    assert "chart-drawn" in {leaf.id for leaf in store.draft(candidate.id).checkpoints.leaves()}


def test_a_finding_counts_only_with_its_quote(run):
    store, _, _ = run
    (validated,) = step(store, "choir-trip", Construction.VALIDATE)
    assert validated.verdict == "clean"
    assert len(validated.facts["ignored"]) == 1
    (tree,) = step(store, "i-need-to-convince", Construction.CHECKPOINTS)
    assert (tree.verdict, tree.calls) == ("regenerated", 6)


def test_rewriting_changes_what_is_asked(run):
    store, _, _ = run
    for words in ("here-s-our-loan", "our-panels"):
        (rewritten,) = step(store, words, Construction.REWRITE)
        before, after = rewritten.facts["before"], rewritten.facts["after"]
        assert after["constraints"] > before["constraints"]
        assert len(after["tools"]) > len(before["tools"])
