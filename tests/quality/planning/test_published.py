"""APB's printed tables follow from its more detailed ones, by our aggregation.

Shares are turned back into counts of cases, so that every printed cell is made of single answers.
"""

import json
from pathlib import Path

import pytest

from quality.planning.marks import by_horizon, by_modality, grouped, plan_marks
from quality.planning.refined import refined_plans
from quality.planning.robustness import extraneous_effects
from taskdata.schema.planning import Form, Modality, Setting

HERE = Path(__file__).parent
PAPERS = json.loads((HERE.parent / "papers.json").read_text(encoding="utf-8"))
EXTRANEOUS = json.loads((HERE / "extraneous.json").read_text(encoding="utf-8"))["models"]
PRINTED = 0.051
"""Half of the last digit of a percentage with one decimal."""
ERRORS = [f"E{n}" for n in range(1, 7)]


def marks_of(row, cases, mark, form):
    """So many marks that their columns are those of the row: CR in %, grade, E1 to E6 in %."""
    correct = round(row[0] / 100 * cases)
    fifths = round(row[1] * cases * 5) - 5 * correct
    failed = cases - correct
    each, more = divmod(max(0, fifths), failed) if failed else (0, 0)
    grades = [1.0] * correct + [min(4, each + (n < more)) / 5 for n in range(failed)]
    counts = dict(zip(ERRORS, (round(share / 100 * cases) for share in row[2:]), strict=True))
    return [
        mark(grade, [e for e, count in counts.items() if cases - n <= count], form=form)
        for n, grade in enumerate(grades)
    ]


def printed(marks):
    return [
        100 * marks.correct.mean,
        marks.grade.mean,
        *(100 * marks.errors[error].mean for error in ERRORS),
    ]


@pytest.mark.parametrize("model", PAPERS["apb_table_1"]["models"])
def test_step_wise_planning_of_table_1_follows_from_the_horizons_of_table_14(
    model, case, mark, answer
):
    answers = [
        answer(case(Setting.STEP_WISE, horizon=k, source=f"{k}-{n}"), one)
        for k, row in enumerate(PAPERS["apb_table_14"]["models"][model].values(), start=1)
        for n, one in enumerate(marks_of(row, 300, mark, "step_wise"))
    ]
    found = printed(plan_marks(answers))
    row = PAPERS["apb_table_1"]["models"][model]["step_wise"]
    assert found == pytest.approx(row, abs=PRINTED)
    # Claude Sonnet 4.5's three grades have the mean 0.8549, and 0.86 is printed.
    assert found[1] == pytest.approx(row[1], abs=0.0052)
    assert [m.marked for m in grouped(answers, by_horizon).values()] == [300, 300, 300]


@pytest.mark.parametrize("model", PAPERS["apb_table_1"]["models"])
def test_holistic_planning_of_table_1_follows_from_the_modalities_of_table_13(
    model, case, mark, answer
):
    cases = PAPERS["apb_table_13"]["cases"]
    parts = PAPERS["apb_table_13"]["models"][model]
    answers = [
        answer(case(modality=Modality(medium), source=f"{medium}-{n}"), one)
        for medium, count in cases.items()
        for n, one in enumerate(marks_of(parts[medium], count, mark, "holistic"))
    ]
    found = printed(plan_marks(answers))
    row = PAPERS["apb_table_1"]["models"][model]["holistic"]
    # The parts are rounded, too: grades to two decimals, shares to one or two.
    assert found == pytest.approx(row, abs=0.06)
    assert found[1] == pytest.approx(row[1], abs=0.0101)
    assert {m: one.marked for m, one in grouped(answers, by_modality).items()} == cases


def cases_with_distractors(model, form, case, mark, answer):
    """Base cases, and what each count of distractors made of them."""
    table = EXTRANEOUS[model][form.value]
    base = Setting.HOLISTIC if form is Form.HOLISTIC else Setting.STEP_WISE
    for n in range(150):
        share = table["base"] / 100
        yield answer(case(base, source=str(n)), mark(1.0 if n < round(share * 150) else 0.4))
    for count, (calls, share, _) in table["by_count"].items():
        for n in range(150):
            yield answer(
                case(
                    Setting.EXTRANEOUS,
                    form=form,
                    distractors=int(count),
                    source=str(n),
                    base_case=str(n),
                ),
                mark(
                    1.0 if n < round(share * 1.5) else 0.4,
                    extraneous=["d0"] if n < calls else [],
                ),
                case_id=f"{n}-{count}",
            )


def test_table_2_follows_from_the_numbers_of_distractors_of_tables_16_and_17(case, mark, answer):
    exact = 0
    for model, row in PAPERS["apb_table_2"]["models"].items():
        for form, columns in ((Form.HOLISTIC, row[:4]), (Form.STEP_WISE, row[4:])):
            answers = list(cases_with_distractors(model, form, case, mark, answer))
            effect = extraneous_effects(answers)[form.value]
            calls, base, extraneous, delta = columns
            assert effect.calls == calls
            # Some cells of table 17 are shares of 148 or 149 cases and not of 150.
            assert 100 * effect.base.mean == pytest.approx(base, abs=0.41)
            assert 100 * effect.extraneous.mean == pytest.approx(extraneous, abs=0.3)
            assert 100 * effect.difference.mean == pytest.approx(delta, abs=0.55)
            exact += round(extraneous - base, 1) == delta
    assert exact == 21, "three of 24 printed deltas differ by 0.1 from the printed rates"


def test_table_4_follows_from_the_answers_before_and_after_refinement(
    case, mark, new_case_task, new_plan_result
):
    cells = 0
    by_setting = {
        setting: [new_case_task(f"c{n}", case(setting, source=str(n))) for n in range(150)]
        for setting in (Setting.HOLISTIC, Setting.STEP_WISE)
    }
    for row in PAPERS["apb_table_4"]["rows"]:
        for start in range(0, len(row), 3):
            tasks = list(by_setting.values())[start // 3 % 2]
            base, refined, delta = row[start : start + 3]
            before = [n < round(base * 1.5) for n in range(150)]
            after = [n < round(refined * 1.5) for n in range(150)]
            results = [
                new_plan_result(task, mark(1.0 if right else 0.4), round_=round_)
                for round_, rights in enumerate((before, after))
                for task, right in zip(tasks, rights, strict=True)
            ]
            hashed = {task.content_hash: task for task in tasks}
            (found,) = refined_plans({"a": results}, hashed, ("self",))
            assert 100 * found.base.mean == pytest.approx(base, abs=0.0051)
            assert 100 * found.refined.mean == pytest.approx(refined, abs=0.0051)
            # Both rates are rounded to two decimals before their difference is printed.
            assert 100 * found.difference.mean == pytest.approx(delta, abs=0.0101)
            cells += 1
    assert cells == 48
