"""The answer of a new atomic task: whether tool results support it, and how it is scored."""

import re
from collections.abc import Sequence

from stages.score.checks.answer import AnswerContains, answer_contains
from stages.score.matching import contains_whole, fold, listed
from stages.score.numbers import close, numbers_in, read_number
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.task import Answer, ObjectiveAnswer, SubjectiveAnswer

Groups = Sequence[Sequence[str]]
"""The statements of an answer, each with its possible wordings."""

_FULL = 10.0

_DECIMALS = re.compile(r"[.,](\d{1,12})\D*$")
_STATED_WEIGHT = 5.0
_MEANING_WEIGHT = 3.0
"""Weight of the meaning of a subjective answer, beside its statements."""


def misstated(groups: Groups, wrong: Sequence[str], answer: str) -> str | None:
    """Return what an answer lacks or gets wrong by its own lists; None: it is right."""
    lists = AnswerContains.model_validate({"all": groups, "none": wrong})
    verdict = answer_contains(answer, lists)
    return None if verdict.score == _FULL else verdict.reason


def unsupported(groups: Groups, results: Sequence[str]) -> str | None:
    """Return which parts of an answer no tool result shows; None: all are shown."""
    unseen = [group[0] for group in groups if not any(_shows(r, group) for r in results)]
    return f"no tool's result shows {listed(unseen)}" if unseen else None


def given_away(groups: Groups, query: str) -> bool:
    """Return whether the question already contains every statement of the answer."""
    text = fold(query)
    return all(any(contains_whole(text, fold(alias)) for alias in group) for group in groups)


def answer_of(groups: Groups, wrong: Sequence[str], references: Sequence[str]) -> Answer:
    """Return the answer in GTA's form: subjective with three references, else objective."""
    if references:
        first, second, third = references
        return SubjectiveAnswer(references=(first, second, third))
    return ObjectiveAnswer(
        whitelist=tuple(tuple(group) for group in groups),
        blacklist=tuple((alias,) for alias in wrong),
    )


def tree_of(groups: Groups, wrong: Sequence[str], references: Sequence[str]) -> Checkpoint:
    """Return the tree that scores the answer: one leaf per statement, a judge for the meaning."""
    share = _STATED_WEIGHT / len(groups)
    leaves = [
        _stated(number, group, wrong if number == 1 else (), share)
        for number, group in enumerate(groups, start=1)
    ]
    if references:
        leaves.append(_meaning(references))
    return Checkpoint(
        id="root",
        requirement="The question is answered correctly and completely.",
        children=tuple(leaves),
    )


def _stated(number: int, group: Sequence[str], wrong: Sequence[str], weight: float) -> Checkpoint:
    args: dict[str, object] = {"all": [list(group)]}
    if wrong:
        args["none"] = list(wrong)
    return Checkpoint(
        id=f"states-{number}",
        requirement=f"The answer states part {number} of the result: {group[0]}.",
        weight=weight,
        verifier=Check(name="answer_contains", args=args),
    )


def _meaning(references: Sequence[str]) -> Checkpoint:
    shown = "\n".join(f"({number}) {text}" for number, text in enumerate(references, start=1))
    return Checkpoint(
        id="meaning",
        requirement="The answer says the same as the reference answers, in usable form.",
        weight=_MEANING_WEIGHT,
        verifier=Judge(
            rubric="Compare with the meaning of these reference answers, not with their wording:\n"
            f"{shown}\n10: the same meaning, complete, and usable as it stands. 7: the same "
            "meaning, but something secondary is missing or it is hard to use. 4: partly the same "
            "meaning. 0: another meaning, or no usable text."
        ),
    )


def _shows(result: str, group: Sequence[str]) -> bool:
    """Return whether a result shows one of the wordings: as text, or as a number to be rounded."""
    text = fold(result)
    if any(contains_whole(text, fold(alias)) for alias in group):
        return True
    wanted = [(n, _half_a_step(alias)) for alias in group if (n := read_number(alias)) is not None]
    return any(
        close(value, number, tolerance)
        for number, tolerance in wanted
        for values in numbers_in(result)
        for value in values
    )


def _half_a_step(number: str) -> float:
    """Return half of the last decimal place of a written number."""
    decimals = _DECIMALS.search(number)
    return 0.5 * 10.0 ** -(len(decimals[1]) if decimals else 0)
