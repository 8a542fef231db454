"""What code alone decides about an answer to a planning case, in every setting."""

import pytest

from stages.score.planning.mark import mark
from taskdata.errors import BadTaskData
from taskdata.schema.planning import GradeRule, Infeasibility, PlanReference
from taskdata.schema.planning_score import (
    Behaviour,
    ErrorFlag,
    PlanError,
    PlanningScore,
    PredictedPlan,
)
from tests.price_cases import (
    CHAIN,
    PREFIX,
    action,
    answer,
    broken,
    case,
    efficiency,
    extraneous,
    finished,
    next_steps,
    unsolvable,
)

_WHOLE = answer(*CHAIN)


def _only(score: PlanningScore) -> ErrorFlag:
    assert score.correct is False
    (flag,) = score.flags
    assert flag.decided_by == "code"
    return flag


@pytest.mark.parametrize(
    ("task", "given"),
    [
        (case(), _WHOLE),
        (extraneous(), _WHOLE),
        (next_steps(), answer(action("add", numbers=[30.0, 120]))),
        (finished(), answer(final_answer="It costs 150.")),
        (broken(), answer(action("look_up_price", item="lamp"))),
        (unsolvable(), answer(refusal="Which lamp?")),
        (efficiency(), answer(*efficiency().planning.reference.chain)),
    ],
    ids=lambda value: value.id if hasattr(value, "id") else "",
)
def test_the_references_answer_is_correct_in_every_setting(task, given) -> None:
    score = mark(task, given)

    assert (score.correct, score.grade, score.flags, score.undecided) == (True, 1.0, (), "")
    assert score.same_as_reference


def test_another_plan_without_proven_errors_is_left_to_a_judge() -> None:
    score = mark(case(), answer(CHAIN[1], CHAIN[0], *CHAIN[2:]))

    assert (score.correct, score.grade, score.undecided) == (None, None, "no_judge")


def test_what_could_not_be_read_has_grade_0_and_no_error() -> None:
    score = mark(case(), PredictedPlan(fault="two JSON objects"))

    assert (score.correct, score.grade, score.flags) == (False, 0, ())
    assert (score.unreadable, score.undecided) == (True, "")


def test_a_task_that_is_no_planning_case_is_refused(task) -> None:
    with pytest.raises(BadTaskData, match="no planning case"):
        mark(task, _WHOLE)


@pytest.mark.parametrize(
    "name", ["Find_Price", "find price", "preis_finden", "价格查询", "find_price "]
)
def test_a_tool_of_another_name_or_language_is_a_hallucination(name: str) -> None:
    score = mark(case(), answer(action(name, item="lamp"), *CHAIN[1:]))

    flag = _only(score)
    assert (flag.error, flag.step, score.grade) == (PlanError.HALLUCINATION, 1, 0.2)


def test_nothing_is_left_of_a_plan_without_a_single_tool_that_exists() -> None:
    score = mark(case(), answer(*(action(f"tool_{n}") for n in range(1_000))))

    assert (score.correct, score.grade) == (False, 0.0)
    assert score.errors == {PlanError.HALLUCINATION}
    assert len(score.flags) <= 41


@pytest.mark.parametrize(
    "wrong",
    [
        action("send_note", text="hi", to="mayor"),
        action("send_note", text="hi"),
        action("send_note", text="hi", to="buyer", urgent=True),
        action("send_note", text=7, to="buyer"),
        action("round_to", value=1, digits=12),
        action("round_to", value="twelve"),
        action("add", numbers=[1, None]),
    ],
    ids=lambda value: str(value.arguments),
)
def test_arguments_that_do_not_fit_the_schema_are_a_tool_use_error(wrong) -> None:
    flag = _only(mark(case(), answer(*CHAIN, wrong)))

    assert (flag.error, flag.step) == (PlanError.TOOL_USE, 5)
    assert wrong.tool in flag.evidence


@pytest.mark.parametrize("value", ["<result of step 1>", "the price that step 1 returned"])
def test_words_for_an_earlier_result_fit_any_type_in_holistic_form(value: str) -> None:
    score = mark(case(), answer(*CHAIN, action("round_to", value=value)))

    assert (score.flags, score.undecided) == ((), "no_judge")


def test_a_next_action_names_the_value_that_its_prefix_shows() -> None:
    flag = _only(mark(next_steps(), answer(action("add", numbers="the prices found above"))))

    assert flag.error is PlanError.TOOL_USE


@pytest.mark.parametrize(
    ("chain", "says", "grade"),
    [
        ((action("round_to", value="<result of step 2>"), CHAIN[0]), "comes later", 0.6),
        ((action("round_to", value="<result of step 1>"),), "needs that of step 1", 0.4),
        ((action("round_to", value="<result of step 7>"),), "no such step", 0.6),
        ((action("round_to", value="<result of step 0>"),), "no such step", 0.6),
        (
            (
                action("round_to", value="<result of step 2>"),
                action("round_to", value="<result of step 1>"),
            ),
            "needs that of step 1",
            0.4,
        ),
    ],
)
def test_a_result_that_is_not_there_yet_is_a_logic_error(chain, says, grade) -> None:
    score = mark(case(), answer(*chain))

    flag = _only(score)
    assert flag.error is PlanError.LOGIC
    assert says in flag.evidence
    assert score.grade == grade


def test_steps_of_the_prefix_count_in_references() -> None:
    ahead = answer(action("add", numbers="<result of step 2>"))

    assert mark(next_steps(), ahead).undecided == "no_judge"
    later = answer(action("add", numbers="<result of step 3>"))
    assert _only(mark(next_steps(), later)).error is PlanError.LOGIC


def test_a_distractor_is_a_severe_tool_use_error_and_is_counted() -> None:
    look = action("find_review", item="lamp")
    score = mark(extraneous(), answer(look, look, *CHAIN))

    assert (score.correct, score.grade) == (False, 0.2)
    assert score.errors == {PlanError.TOOL_USE}
    assert score.extraneous == ("find_review", "find_review")


@pytest.mark.parametrize(
    ("task", "given", "subtype", "grade"),
    [
        (case(), answer(plan=("Just answer.",)), "task_incompleteness", 0.0),
        (case(), answer(refusal="Too hard."), "task_incompleteness", 0.0),
        (next_steps(), answer(final_answer="It costs 150."), "premature_conclusion", 0.4),
        (next_steps(), answer(refusal="Too hard."), "premature_conclusion", 0.0),
        (next_steps(), answer(), "premature_conclusion", 0.0),
        (finished(), answer(), "premature_conclusion", 0.0),
        (unsolvable(), answer(), "task_incompleteness", 0.0),
    ],
)
def test_nothing_called_where_something_is_due_is_unfinished(task, given, subtype, grade) -> None:
    score = mark(task, given)

    flag = _only(score)
    assert (flag.error, flag.subtype) == (PlanError.UNFINISHED, subtype)
    assert score.grade == grade
    assert score.refused == bool(given.refusal)


def test_a_refusal_in_the_middle_of_a_plan_gains_nothing() -> None:
    both = answer(*CHAIN, refusal="This cannot be done.")

    solvable, impossible = mark(case(), both), mark(unsolvable(), both)

    assert _only(solvable).error is PlanError.LOGIC
    assert (impossible.correct, impossible.grade) == (False, 0.0)
    assert not solvable.refused
    assert not impossible.refused


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (Infeasibility.CONTRADICTION, PlanError.CONSTRAINT),
        (Infeasibility.MISSING_INFORMATION, PlanError.HALLUCINATION),
        (Infeasibility.INACCESSIBLE_EVIDENCE, PlanError.HALLUCINATION),
        (Infeasibility.TOOL_REMOVAL, PlanError.LOGIC),
    ],
)
def test_planning_on_where_nothing_solves_the_task_is_wrong(kind, error) -> None:
    score = mark(unsolvable(kind), _WHOLE)

    assert (_only(score).error, score.grade) == (error, 0.0)


@pytest.mark.parametrize(
    ("given", "behaviour", "correct"),
    [
        (answer(action("look_up_price", item="lamp")), Behaviour.REPLACE, True),
        (answer(action("find_price", item="lamp")), Behaviour.RETRY, False),
        (answer(action("find_price", item="another lamp")), Behaviour.RETRY, False),
        (answer(refusal="The service is down."), Behaviour.REFUSE, False),
        (answer(action("repair_service")), Behaviour.OTHER, False),
        (answer(final_answer="It costs 30."), Behaviour.OTHER, False),
        (answer(), Behaviour.OTHER, False),
        (
            answer(action("look_up_price", item="lamp"), action("add", numbers=[1])),
            Behaviour.OTHER,
            False,
        ),
        (
            answer(action("look_up_price", item="lamp"), refusal="It is down."),
            Behaviour.OTHER,
            False,
        ),
    ],
)
def test_behaviour_after_a_tool_failed_for_good(given, behaviour, correct) -> None:
    score = mark(broken(), given)

    assert (score.behaviour, score.correct) == (behaviour, correct)
    assert (score.grade == 1.0) is correct


def test_another_existing_tool_is_an_alteration_only_if_a_rule_names_it() -> None:
    given = answer(action("add", numbers=[1, 2]))
    rule = GradeRule(requirement="It goes on.", tools=("add", "look_up_price"))
    reference = PlanReference(chain=broken().planning.reference.chain, rules=(rule,))

    undecided, altered = mark(broken(), given), mark(broken(reference=reference), given)

    assert (undecided.behaviour, undecided.correct, undecided.undecided) == (None, None, "no_judge")
    assert (altered.behaviour, altered.correct) == (Behaviour.ALTER, True)


def test_cost_and_traps_are_recorded_whatever_the_verdict() -> None:
    dear = answer(
        action("premium_price", item="lamp"),
        action("find_price", item="desk"),
        action("add", numbers=["<result of step 1>", "<result of step 2>"]),
    )
    unknown = answer(action("find_price", item="lamp"), action("guess"))

    assert mark(efficiency(), answer(*efficiency().planning.reference.chain)).cost == 5
    assert (mark(efficiency(), dear).cost, mark(efficiency(), dear).traps) == (
        12,
        ("premium_price",),
    )
    assert mark(efficiency(), unknown).cost is None
    assert mark(efficiency(), answer(*dear.chain, left_out=3)).cost is None


def test_a_requirement_that_no_call_serves_is_proven_by_its_rule() -> None:
    rule = GradeRule(requirement="The sum is computed.", tools=("add",))
    holistic = case(reference=PlanReference(chain=CHAIN, rules=(rule,)))
    stepwise = next_steps(
        reference=PlanReference(chain=(action("add", numbers=[30, 120]),), rules=(rule,))
    )
    copied = action("find_price", **PREFIX[0].arguments)

    assert _only(mark(holistic, answer(*CHAIN[:2]))).subtype == "task_incompleteness"
    assert _only(mark(stepwise, answer(copied))).error is PlanError.LOGIC


@pytest.mark.parametrize("actions", [1, 3])
def test_more_or_fewer_next_actions_than_asked_are_against_the_form(actions: int) -> None:
    chain = [action("add", numbers=[30, 120])] * actions

    flag = _only(mark(next_steps(horizon=2), answer(*chain)))

    assert flag.error is PlanError.CONSTRAINT


def test_calls_that_are_not_read_are_against_the_form() -> None:
    score = mark(case(), answer(*CHAIN, left_out=900))

    assert (_only(score).error, score.same_as_reference) == (PlanError.CONSTRAINT, False)


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (action("send_note", text=" <Result of step 3> ", to="buyer"), True),
        (action("send_note", text="<result of step 3: THE sum>", to="buyer"), False),
        (action("send_note", text="<result of step 2: the total>", to="buyer"), False),
        (action("send_note", text="<result of step 3>", to="seller"), False),
    ],
)
def test_which_arguments_are_the_references(given, same: bool) -> None:
    assert mark(case(), answer(*CHAIN[:3], given)).same_as_reference is same


def test_a_default_counts_as_left_out_and_true_is_not_one() -> None:
    chain = (action("round_to", value=1),)
    task = case(reference=PlanReference(chain=chain))

    assert mark(task, answer(action("round_to", value=1, digits=2))).same_as_reference
    assert not mark(task, answer(action("round_to", value=True))).same_as_reference
