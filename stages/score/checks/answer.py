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
from stages.score.matching import fold, listed
from stages.score.numbers import close, numbers_in, plain
from stages.score.stated import MAX_WORDS, few_numbers, names, names_wrong, readings, states
from taskdata.schema.scores import Shortcoming

_UNDECIDED = "so many candidates that it states none"


class AnswerContains(CheckArgs):
    """One alias of every group in `all`, and no alias of `none`, as whole words or equal numbers.

    An answer that names many candidates states none of them.
    """

    all: Groups
    none: Forbidden = ()


def answer_contains(answer: str, args: AnswerContains) -> Verdict:
    """Give 10 for a stated alias of every group and none of `none` (GTA, section 4.2), else 0."""
    groups = [[fold(alias) for alias in group] for group in args.all]
    if not answer.strip():
        return failed("no answer was given")
    verdict = failed(f"the answer has no conclusion of {MAX_WORDS} words or fewer")
    for place, reading in enumerate(readings(answer)):
        named = [any(names(reading.text, alias) for alias in group) for group in groups]
        if not all(named):
            if place:
                continue
            # What an answer does not name, its conclusion does not name either.
            missing = [g[0] for g, is_named in zip(args.all, named, strict=True) if not is_named]
            return failed(f"the answer does not name {listed(missing)}")
        if all(states(reading, group, len(groups)) for group in groups):
            wrong = [a for a in args.none if names_wrong(reading.text, fold(a))]
            if wrong:
                reason = f"the answer names {listed(wrong)}, which is wrong"
                return failed(reason, Shortcoming.FORBIDDEN)
            return passed(f"the answer names {listed([g[0] for g in args.all])}")
        verdict = failed(f"the answer names {_UNDECIDED}", Shortcoming.UNDECIDED)
    return verdict


class AnswerNumber(CheckArgs):
    """The answer states this number, as one of few."""

    expected: float = Field(allow_inf_nan=False)
    tolerance: Tolerance = 0.0


def answer_number(answer: str, args: AnswerNumber) -> Verdict:
    """Give 10 when a number in the answer lies within the tolerance of the expected one."""
    stated = list(numbers_in(answer))
    if not stated:
        reason = f"the answer states no number; expected {plain(args.expected)}"
        return failed(reason, Shortcoming.NO_NUMBER)
    texts = (reading.text for reading in readings(answer))
    text = next((text for text in texts if few_numbers(text, args.expected)), None)
    if text is None:
        reason = f"the answer states {len(set(stated))} numbers, {_UNDECIDED}"
        return failed(reason, Shortcoming.UNDECIDED)
    found = list(numbers_in(text))
    fits = any(close(v, args.expected, args.tolerance) for values in found for v in values)
    numbers = listed([values[0] for values in found])
    return holds(fits, f"the answer states {numbers}; expected {plain(args.expected)}")


CHECKS = (
    CheckSpec("answer_contains", AnswerContains, (str,), answer_contains, version=3),
    CheckSpec("answer_number", AnswerNumber, (str,), answer_number, version=3),
)
