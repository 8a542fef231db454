"""Proofs and counterexamples; what SMT-LIB may not do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.tools.logic.smtlib import problem_of
from taskdata.errors import ToolRefused
from taskdata.schema.tool import ToolErrorKind

INTS = {"x": "int", "y": "int"}


@pytest.mark.parametrize(
    ("given", "goal", "variables"),
    [
        (["implies(rain, wet)", "rain"], "wet", {}),
        (["x > 3", "y == x + 1"], "y >= 5", INTS),
        ([], "iff(not (p and q), not p or not q)", {}),
        (["forall(x, x * x >= 0)"], "y ** 2 >= 0", INTS),
        (["0 < x < 2"], "x == 1", INTS),
        (["x == 0.1 + 0.2"], "x == 0.3", {"x": "real"}),
        ([], "1 / 2 == 0.5 and 7 % 2 == 1", {}),
        (["distinct(x, y)", "ite(p, x, y) == 1", "p"], "x == 1 and y != 1", INTS),
    ],
)
def test_what_follows_is_proved(run, given, goal, variables):
    result = run("Prover", assumptions=given, goal=goal, variables=variables)
    assert (result.error, result.text) == (None, "Proved: the goal follows.")


def test_what_does_not_follow_has_a_counterexample(run):
    result = run("Prover", assumptions=["x > 3"], goal="x > 4", variables=INTS)
    assert result.text == "Counterexample, the goal does not follow: x = 4"


def test_from_a_contradiction_anything_follows_and_that_is_said(run):
    text = run("Prover", assumptions=["p", "not p"], goal="q").text
    assert text.startswith("Proved, but only because what is given contradicts itself")


def test_without_a_goal_values_are_sought(run):
    found = run("Prover", assumptions=["2 * x + y == 7", "x - y == 2"], variables=INTS).text
    assert found == "Satisfiable, such as with: x = 3, y = 1"
    assert run("Prover", assumptions=["x * x == 2"], variables=INTS).text == (
        "Contradictory: it cannot all be true."
    )


def test_a_hard_problem_stays_unknown_in_time(run):
    cubes = dict.fromkeys("abc", "int")
    given = ["a > 1 and b > 1 and c > 1", "a ** 3 + b ** 3 == c ** 3"]
    result = run("Prover", assumptions=given, variables=cubes, seconds=1)
    assert result.text.startswith("Unknown: neither a proof nor a counterexample")


SOCRATES = """
; all men are mortal
(set-logic UF) (declare-sort Man 0)
(declare-fun mortal (Man) Bool)
(declare-const socrates Man)
(assert (forall ((m Man)) (mortal m)))
(check-sat) (exit) (include "ignored after exit")
"""


def test_smtlib_with_and_without_a_goal(run):
    assert run("Prover", smtlib=SOCRATES, goal="(mortal socrates)").text == (
        "Proved: the goal follows."
    )
    assert run("Prover", smtlib=SOCRATES).text.startswith("Satisfiable, such as with: ")
    text = '(declare-const s String)(assert (= s "a;)"))(check-sat)(get-model)'
    assert run("Prover", smtlib=text).text == 'Satisfiable, such as with: s = "a;)"'


@pytest.mark.parametrize(
    "command",
    [
        '(include "/etc/passwd")',
        "(echo hello)",
        "(push 1)",
        "(eval 1)",
        '(dump "x")',
        "(|include| x)",
    ],
)
def test_smtlib_commands_that_do_anything_else_are_refused(refused, command):
    assert "is not available here" in refused("Prover", smtlib=command)


def test_options_never_reach_the_solver(run, workspace: Path):
    leak = workspace / "output" / "leak"
    text = f'(set-option :regular-output-channel "{leak}")(declare-const p Bool)(assert p)'
    assert run("Prover", smtlib=text).error is None
    assert "set-option" not in problem_of(text)
    assert not leak.exists()


def test_a_goal_cannot_bring_commands_along(refused):
    goal = 'true)) (include "/etc/passwd") (assert (not true'
    assert "is not one SMT-LIB term" in refused("Prover", smtlib=SOCRATES, goal=goal)
    assert "is not one SMT-LIB term" in refused("Prover", smtlib=SOCRATES, goal="true false")


@given(st.lists(st.sampled_from([*'()";| \n', "assert", "declare-const", "x", "include"])))
def test_whatever_the_text_only_declarations_and_assertions_are_left(parts):
    try:
        problem = problem_of("".join(parts))
    except ToolRefused:
        return
    assert not problem or problem.lstrip("( ").startswith(("assert", "declare-const", ";", "\n"))


@pytest.mark.parametrize("text", ["(assert", ")", "hello", '(assert "open)', "(" * 300])
def test_text_that_is_no_smtlib_is_refused(text):
    with pytest.raises(ToolRefused):
        problem_of(text)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("__import__('os')", "is not part of a formula"),
        ("eval(p)", "There is no eval(...) of 1 arguments"),
        ("undeclared > 3", "mixes kinds"),
        ("n == p", "mixes kinds"),
        ("-p > 1", "mixes kinds"),
        ("x.real > 1", "is not part of a formula"),
        ("x + 1", "mixes kinds"),
        ("p -> q", "is not a formula"),
        ("2 ** 99 > 1", "Exponents go from 0 to 16"),
        ("n + 1", "is a number"),
        ("forall(n > 1, p)", "forall takes variables"),
        ("(" * 250 + "p" + ")" * 250, "is not a formula"),
        ("[x for x in p]", "is not part of a formula"),
    ],
)
def test_what_is_no_formula_is_refused(refused, formula, message):
    assert message in refused("Prover", goal=formula, variables={"n": "int"})


def test_z3s_own_complaints_reach_the_agent(refused):
    assert "unknown constant y" in refused("Prover", smtlib="(assert (> y 1))")


def test_one_way_of_stating_it(run):
    both = run("Prover", smtlib="(assert true)", assumptions=["p"])
    assert both.error is ToolErrorKind.BAD_ARGUMENTS
    assert "either smtlib or assumptions" in both.text
    assert run("Prover").error is ToolErrorKind.BAD_ARGUMENTS
