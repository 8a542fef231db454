"""The stage plan_cases: what is made by code alone, of people's words, and of a model's."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from quality.bank_statistics import bank_statistics
from stages.construct.asking.prompting import prompt
from stages.construct.planning import work
from stages.construct.planning.cases.making import make
from stages.construct.planning.supplied import read_supplied
from stages.construct.planning.variations import Variation
from stages.construct.proof import prove
from stages.construct.rules.book import review_rules
from stages.release.release import compose
from stages.release.reviewing.deciding import approve_all, edit
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import (
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    RefreshStatus,
)
from taskdata.schema.planning import Setting
from taskdata.schema.release import ReleaseNotes
from tests.stages.construct.planning.conftest import WRITTEN

OPENINGS = {
    "You put into words the plan": "plan",
    "You invent tools": "distractors",
    "One tool of a piece": "substitute",
    "You turn a request": "infeasible",
    "You put prices": "efficiency",
    "You read a case": "opinion",
}


@pytest.fixture(autouse=True)
def _bank(store, harvest):
    """The task is the newest release of the bank `tiny`."""
    release = store.add_release("tiny", [harvest], {})
    store.add_release_notes(
        ReleaseNotes(
            release_hash=release.hash,
            bank="tiny",
            version=1,
            snapshot_sha256=release.hash,
            statistics=bank_statistics([harvest]),
            created_at=datetime.now(UTC),
        )
    )


@pytest.fixture
def refresh(store):
    """Start the refresh `r1`, which makes planning cases of that bank."""

    def make(**config: object) -> Refresh:
        fields = {"bank": "planned", "base": None, "plan_cases": "tiny"} | config
        new = Refresh(
            id="r1",
            status=RefreshStatus.RUNNING,
            config=RefreshConfig.model_validate(fields),
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_refresh(new)
        return new

    return make


@pytest.fixture
def words(tmp_path) -> Path:
    """A folder of what people wrote about the task."""
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "about.yaml").write_text("reviewer: Ada\n")
    fields = {name: value for name, value in WRITTEN.items() if name != "contradiction"}
    fields["infeasible"] = [WRITTEN["contradiction"]]
    plain = json.loads(json.dumps(fields))
    (folder / "harvest-letter.yaml").write_text(yaml.safe_dump(plain))
    return folder


def cases_of(store):
    """The cases of the refresh by what they are: `broken`, `extraneous holistic 10`."""
    found = {}
    for candidate in store.candidates("r1"):
        made = Variation.model_validate_json(candidate.aim)
        kind = (made.infeasibility or made.setting).value
        if made.setting is Setting.EXTRANEOUS:
            kind += f" {made.form.value} {made.number}"
        elif made.setting is Setting.STEP_WISE:
            kind += f" {made.horizon} after {made.position}"
        found[kind] = candidate
    return found


def test_code_alone_cuts_the_whole_plan_and_next_steps(store, refresh):
    refresh()

    report = work.do(store, "r1")

    found = cases_of(store)
    assert report.errors == 0
    assert "holistic" in found
    assert all(kind.startswith("step_wise") for kind in found if kind != "holistic")
    assert {c.origin for c in found.values()} == {Origin.PLAN_CASE}
    assert {c.stage for c in found.values()} == {Construction.PROVE}


def test_of_peoples_words_every_setting_is_made_and_proven(store, refresh, words):
    refresh(plan_words=str(words))

    work.do(store, "r1")
    prove.do(store, "r1")

    found = cases_of(store)
    assert {"extraneous holistic 10", "broken", "contradiction"} <= found.keys()
    assert {c.stage for c in found.values()} == {Construction.REVIEW}
    draft = store.draft(found["broken"].id)
    assert draft.planning.origin.reviewer == "Ada"
    assert draft.planning.origin.model is None


def test_no_more_cases_are_made_than_were_asked_for(store, refresh):
    refresh(plan_counts={"step_wise": 2})

    work.do(store, "r1")

    assert sum(kind.startswith("step_wise") for kind in cases_of(store)) == 2


def test_done_again_it_makes_nothing_twice(store, refresh):
    refresh()
    work.do(store, "r1")
    steps = {i: len(store.steps(c.id)) for i, c in cases_of(store).items()}

    again = work.do(store, "r1")

    assert again.due == 0
    assert {i: len(store.steps(c.id)) for i, c in cases_of(store).items()} == steps


def test_a_model_writes_each_answer_once_and_reads_every_case(store, refresh, connect, wire):
    asked = []

    def answer(seen):
        system = seen.body["messages"][0]["content"]
        name = next(name for opening, name in OPENINGS.items() if system.startswith(opening))
        asked.append(name)
        opinion = {"reasonable": True, "reason": ""}
        form = WRITTEN.get(name, opinion if name == "opinion" else WRITTEN["contradiction"])
        return wire.says(json.dumps(form), input_tokens=10, output_tokens=5)

    wire.respond = answer
    refresh(model={"provider": "openai", "model": "model-1"}, base_url=wire.openai_url)

    work.do(store, "r1", connect)

    found = cases_of(store)
    assert asked.count("plan") == asked.count("distractors") == 1
    made = [c for c in found.values() if c.stage is Construction.PROVE]
    assert asked.count("opinion") == len(made)
    draft = store.draft(found["broken"].id)
    assert draft.planning.origin.model == "openai/model-1"
    # The model gave a contradiction where another kind was asked for.
    other = found["missing_information"]
    assert other.status is CandidateStatus.QUARANTINED


def test_a_case_that_the_model_finds_unreasonable_goes_to_quarantine(
    store, refresh, connect, wire, words
):
    def answer(seen):
        return wire.says(json.dumps({"reasonable": False, "reason": "Nobody asks that."}))

    wire.respond = answer
    refresh(
        model={"provider": "openai", "model": "model-1"},
        base_url=wire.openai_url,
        plan_words=str(words),
    )

    work.do(store, "r1", connect)

    whole = cases_of(store)["holistic"]
    assert (whole.status, whole.reason) == (CandidateStatus.QUARANTINED, "Nobody asks that.")
    assert store.draft(whole.id).planning is not None


def test_a_bank_without_trials_and_references_gives_no_case(store, refresh, new_task):
    bare = new_task("bare", reference=None)
    release = store.add_release("bare", [bare], {})
    store.add_release_notes(
        ReleaseNotes(
            release_hash=release.hash,
            bank="bare",
            version=1,
            snapshot_sha256=release.hash,
            statistics=bank_statistics([bare]),
            created_at=datetime.now(UTC),
        )
    )
    refresh(plan_cases="bare")

    with pytest.raises(Misuse, match="neither a reference solution nor a trial"):
        work.do(store, "r1")


def test_a_refresh_of_tasks_has_no_planning_cases(store, refresh):
    refresh(plan_cases=None, model={"provider": "openai", "model": "m"})

    with pytest.raises(Misuse, match="makes no planning cases"):
        work.do(store, "r1")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("harvest-letter.yaml", "plann: {}", "field 'plann' is unknown"),
        ("harvest-letter.yaml", "plan: {steps: [1]}", "plan: field steps.0"),
        ("about.yaml", "reviewer: 3", "expected one field, `reviewer`"),
        ("trajectories.jsonl", "{}\n", "trajectories.jsonl:1: field task_id"),
    ],
)
def test_malformed_words_are_named(words, name, text, says):
    (words / name).write_text(text)

    with pytest.raises(BadTaskData, match=says):
        read_supplied(words)


def test_a_folder_without_its_people_is_refused(tmp_path):
    with pytest.raises(Misuse, match=r"it needs about\.yaml"):
        read_supplied(tmp_path)


def test_a_reviewer_may_change_a_case_as_far_as_the_rules_allow(store, refresh, words):
    refresh(plan_words=str(words))
    work.do(store, "r1")
    prove.do(store, "r1")
    candidate = cases_of(store)["contradiction"]
    draft = store.draft(candidate.id).model_dump(mode="json")
    rules = review_rules(store)

    edit(store, candidate, draft | {"query": draft["query"] + " Thanks!"}, "Ada", "", rules)
    changed = store.candidate(candidate.id)
    prove.do(store, "r1")
    draft["planning"] = draft["planning"] | {"proof": " "}

    assert changed.stage is Construction.PROVE
    with pytest.raises(BadTaskData, match="no sentence proves that it cannot be solved"):
        edit(store, store.candidate(candidate.id), draft, "Ada", "", rules)


def test_approved_cases_are_released_with_their_source_and_reviewer(store, refresh, words):
    started = refresh(plan_words=str(words))
    work.do(store, "r1")
    prove.do(store, "r1")
    approve_all(store, "r1", "Ada", "read one by one")

    composition = compose(store, started)

    assert {task.provenance.source for task in composition.tasks} == {"harvest-letter"}
    assert {entry.origin for entry in composition.lineage} == {"plan_case"}
    assert {(entry.proof, entry.reviewer) for entry in composition.lineage} == {("proven", "Ada")}


@pytest.mark.parametrize("name", sorted(OPENINGS.values()))
def test_every_question_shows_the_request_as_data(source, name):
    if name == "opinion":
        context = work.shown_of(make(Variation(task_id="t", setting=Setting.HOLISTIC), source))
    else:
        context = work.context_of(source, "contradiction")

    system, user = prompt(f"case_{name}", context).messages

    assert source.task.query in user.text
    assert source.task.query not in system.text
    assert "BEGIN DATA" in user.text
