"""Checks of the final answer."""

from pydantic import Field

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    Forbidden,
    Groups,
    Tolerance,
    Verdict,
    failed,
    holds,
    passed,
)
from stages.score.matching import contains_whole, fold, listed
from stages.score.numbers import close, numbers_in, plain

_MAX_NUMBERS = 50
"""An answer that states more numbers than this names none of them as its result."""


class AnswerContains(CheckArgs):
    """One alias of every group in `all`, and no alias of `none`, as whole words."""

    all: Groups
    none: Forbidden = ()


def answer_contains(answer: str, args: AnswerContains) -> Verdict:
    """Apply GTA's rule for objective answers (GTA, section 4.2): all or nothing."""
    text = fold(answer)
    missing = [g for g in args.all if not any(contains_whole(text, fold(a)) for a in g)]
    if missing:
        return failed(f"the answer does not name {listed([g[0] for g in missing])}")
    wrong = [a for a in args.none if contains_whole(text, fold(a))]
    if wrong:
        return failed(f"the answer names {listed(wrong)}, which is wrong")
    return passed(f"the answer names {listed([g[0] for g in args.all])}")


class AnswerNumber(CheckArgs):
    """The answer states this number."""

    expected: float = Field(allow_inf_nan=False)
    tolerance: Tolerance = 0.0


def answer_number(answer: str, args: AnswerNumber) -> Verdict:
    """Give 10 when a number in the answer lies within the tolerance of the expected one."""
    stated = list(numbers_in(answer))
    if not stated:
        return failed(f"the answer states no number; expected {plain(args.expected)}")
    if len(set(stated)) > _MAX_NUMBERS:
        return failed(f"the answer states {len(set(stated))} numbers, so none as its result")
    found = any(close(v, args.expected, args.tolerance) for values in stated for v in values)
    numbers = listed([values[0] for values in stated])
    return holds(found, f"the answer states {numbers}; expected {plain(args.expected)}")


CHECKS = (
    CheckSpec("answer_contains", AnswerContains, (str,), answer_contains),
    CheckSpec("answer_number", AnswerNumber, (str,), answer_number),
)
