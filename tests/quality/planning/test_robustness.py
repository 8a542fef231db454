"""Distractors against their base cases, behaviours after a broken tool, refusals by kind."""

import pytest

from quality.planning.robustness import behaviours, extraneous_effects, refusals
from taskdata.schema.planning import Form, Infeasibility, Setting
from taskdata.schema.planning_score import Behaviour


def disturbed(case, source, count, base):
    return case(Setting.EXTRANEOUS, source=source, distractors=count, base_case=base)


def test_distractors_are_compared_with_their_own_base_cases(case, mark, answer):
    sources = [f"s{n}" for n in range(6)]
    base = [answer(case(source=s), mark(1.0), case_id=s) for s in sources]
    unrelated = answer(case(source="z"), mark(0.2, ["E1"]), case_id="z")
    hit = [
        answer(disturbed(case, s, 2, s), mark(0.2, ["E5"], extraneous=["d0", "d1"]), f"{s}-2")
        for s in sources
    ]
    missed = [answer(disturbed(case, s, 4, s), mark(1.0), case_id=f"{s}-4") for s in sources]
    found = extraneous_effects([*base, unrelated, *hit, *missed])["holistic"]
    assert (found.base.mean, found.extraneous.mean, found.calls) == (1.0, 0.5, 12)
    assert found.difference.mean == pytest.approx(-0.5)
    assert found.p_value == pytest.approx(2 / 2**6)
    assert {count: use.calls for count, use in found.by_count.items()} == {2: 12, 4: 0}


def test_without_a_base_case_there_is_no_difference(case, mark, answer):
    found = extraneous_effects([answer(disturbed(case, "s", 2, "gone"), mark(1.0), "x")])
    assert found["holistic"].base.mean is None
    assert found["holistic"].difference.mean is None


def test_the_two_forms_stand_apart(case, mark, answer):
    one = case(Setting.EXTRANEOUS, form=Form.STEP_WISE, distractors=2, base_case="b")
    assert list(extraneous_effects([answer(one, mark())])) == ["step_wise"]


def test_behaviours_add_up_to_1_and_undecided_ones_stand_apart(case, mark, answer):
    kinds = [Behaviour.REPLACE, Behaviour.REPLACE, Behaviour.RETRY, None]
    answers = [
        answer(case(Setting.BROKEN, source=f"s{n}"), mark(1.0, behaviour=kind))
        for n, kind in enumerate(kinds)
    ]
    shares, undecided = behaviours(answers)
    assert undecided == 1
    assert shares["replace"].mean == pytest.approx(2 / 3)
    assert sum(share.mean for share in shares.values()) == pytest.approx(1)
    assert behaviours([]) == ({}, 0)


def test_refusals_by_kind(case, mark, answer):
    found = refusals(
        [
            answer(
                case(Setting.UNSOLVABLE, source=f"s{n}", infeasibility=kind),
                mark(1.0 if right else 0.2),
            )
            for n, (kind, right) in enumerate(
                [
                    (Infeasibility.CONTRADICTION, True),
                    (Infeasibility.CONTRADICTION, False),
                    (Infeasibility.TOOL_REMOVAL, True),
                ]
            )
        ]
    )
    assert {kind: one.mean for kind, one in found.items()} == {
        "contradiction": 0.5,
        "tool_removal": 1.0,
    }
