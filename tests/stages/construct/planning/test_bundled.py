"""The bank starter-planning: it is what the pipeline makes, it is proven, and it pays nobody."""

import shutil
import sys
from collections import Counter

import pytest

from stages.construct.planning import bundled
from stages.construct.planning.bundled import FOLDER, bundled_files, recorded
from stages.construct.planning.supplied import TRAJECTORIES
from stages.construct.planning.variations import third_of
from stages.construct.proof.plans import prove_cases
from stages.construct.proof.verdict import ProofVerdict
from stages.score.planning.mark import mark
from taskdata.banks.loader import load_bank
from taskdata.schema.planning import Form, Infeasibility, PlannedAction, Setting
from taskdata.schema.planning_score import Behaviour, PredictedPlan
from tests.soak import at_length_only


@pytest.fixture(scope="module")
def cases():
    return load_bank("starter-planning").tasks


def test_the_bank_equals_what_the_pipeline_makes_of_its_sources():
    for name, text in bundled_files().items():
        on_disk = (FOLDER / name).read_text(encoding="utf-8")
        assert on_disk == text, f"{name}: run python -m stages.construct.planning.bundled"


def _stored() -> list[str]:
    return (FOLDER / "sources" / TRAJECTORIES).read_text(encoding="utf-8").splitlines()


def test_a_reference_that_is_played_anew_gives_the_trajectory_that_is_stored():
    (line,) = recorded(load_bank("starter", ["toy-library-week"])).splitlines()

    assert line in _stored()


@pytest.mark.soak
@at_length_only
def test_recorded_anew_the_whole_bank_stays_as_it_is(tmp_path, monkeypatch):
    anew = tmp_path / "starter-planning"
    shutil.copytree(FOLDER, anew)
    (anew / "sources" / TRAJECTORIES).unlink()
    monkeypatch.setattr(bundled, "FOLDER", anew)
    monkeypatch.setattr(sys, "argv", ["bundled", "--record"])

    bundled.main()

    for path in (path for path in FOLDER.rglob("*") if path.is_file()):
        name = path.relative_to(FOLDER)
        assert (anew / name).read_bytes() == path.read_bytes(), name


def test_the_bank_is_small():
    sizes = [path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()]

    assert sum(sizes) < 1.5e6


def test_it_has_120_cases_over_all_settings(cases):
    assert Counter(task.planning.setting for task in cases) == {
        Setting.HOLISTIC: 30,
        Setting.STEP_WISE: 30,
        Setting.EXTRANEOUS: 30,
        Setting.BROKEN: 10,
        Setting.UNSOLVABLE: 12,
        Setting.EFFICIENCY: 8,
    }
    kinds = Counter(t.planning.infeasibility for t in cases if t.planning.infeasibility)
    assert kinds == dict.fromkeys(Infeasibility, 3)


def test_step_wise_cases_are_spread_over_horizons_and_positions(cases):
    cuts = [t.planning for t in cases if t.planning.setting is Setting.STEP_WISE]

    assert Counter(case.horizon for case in cuts) == {1: 10, 2: 10, 3: 10}
    thirds = Counter(third_of(case.origin.position, case.origin.length) for case in cuts)
    assert thirds == {0: 12, 1: 9, 2: 9}


def test_each_number_of_distractors_stands_in_both_forms_beside_its_base(cases):
    ids = {task.id for task in cases}
    noisy = [t.planning for t in cases if t.planning.setting is Setting.EXTRANEOUS]

    numbers = Counter(
        (sum(tool.role == "distractor" for tool in case.tools), case.form) for case in noisy
    )
    assert numbers == {(n, form): 3 for n in (2, 4, 6, 8, 10) for form in Form}
    assert all(case.origin.base_case in ids for case in noisy)


def test_every_case_names_where_it_comes_from_and_who_read_it(cases):
    tasks = {task.id: task for task in load_bank("starter").tasks}

    for task in cases:
        origin = task.planning.origin
        assert origin.task_hash == tasks[origin.task_id].content_hash
        assert (origin.model, origin.reviewer) == (None, "the authors of Nightshift")


def test_the_reference_scores_everything_and_an_empty_answer_nothing(cases):
    proofs = prove_cases(cases).values()

    assert {proof.verdict for proof in proofs} == {ProofVerdict.PROVEN}
    assert {proof.reference_score for proof in proofs} == {10.0}
    assert {proof.nop_score for proof in proofs} == {0.0}


def test_a_planner_that_always_refuses_is_right_where_nothing_can_be_done(cases):
    scores = {t.id: mark(t, PredictedPlan(refusal="It cannot be done.")) for t in cases}

    right = {task.planning.setting for task in cases if scores[task.id].correct}
    assert right == {Setting.UNSOLVABLE}
    assert Counter(score.grade for score in scores.values()) == {1.0: 12, 0.0: 108}
    broken = [scores[t.id].behaviour for t in cases if t.planning.setting is Setting.BROKEN]
    assert set(broken) == {Behaviour.REFUSE}


def test_a_planner_that_always_calls_the_first_tool_is_hardly_ever_right(cases):
    def first(task):
        case = task.planning
        calls = (PlannedAction(tool=case.tools[0].name),) * (case.horizon or 1)
        return PredictedPlan(plan=("I call a tool.",), chain=calls)

    right = [task for task in cases if mark(task, first(task)).correct]
    # Of a broken tool, another tool that can do the same is right whatever it is given.
    assert [task.planning.setting for task in right] in ([], [Setting.BROKEN])


def test_a_planner_that_copies_the_prefix_is_never_right(cases):
    def copied(task):
        case = task.planning
        taken = case.prefix[-(case.horizon or len(case.prefix)) :] if case.prefix else ()
        calls = (
            PlannedAction(tool=step.tool, arguments=step.arguments, rationale=step.rationale)
            for step in taken
        )
        return PredictedPlan(plan=("I go on as before.",), chain=tuple(calls))

    scores = {task.id: mark(task, copied(task)) for task in cases}
    assert {score.correct for score in scores.values()} == {False}
    behaviours = {scores[t.id].behaviour for t in cases if t.planning.setting is Setting.BROKEN}
    assert behaviours == {Behaviour.RETRY}
