"""What feedback may reveal of a task that it is given on.

Feedback is what a user could have written who looks at the deliverable and knows what was asked
for. It may state

- what the task itself states: its query, its deliverables, the names of its files;
- the requirements of the checkpoint tree, without what they quote of the expected outcome;
- which deliverables, sheets, tables and the like are there or not, and how many parts are right
  ("two of five totals are right"), as checks report it without any value;
- what the agent itself did and saw: its files, its calls, the errors of its tools.

It never states an expected value, an argument of a check, a rubric, an answer, or the reason of a
score, which quotes them. Everything from a task's verifiers passes through `Policy`, and sentences
about checks and labels are written in `check_sentences` and `label_sentences`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from taskdata.schema.checkpoint import (
    AskedAgain,
    Checkpoint,
    Judge,
    ScriptCheck,
    ToolResultCheck,
    checked_by_code,
)
from taskdata.schema.task import Task

HIDDEN = "[…]"
"""Stands for what is left out of a requirement."""
_STATEMENTS = frozenset({"all", "none"})
"""Arguments of checks with what is to be stated, or not."""
_STATED = _STATEMENTS | {"expected"}
_EXPECTED = _STATEMENTS | {"expected", "values", "rows", "cells"}
"""Arguments of checks whose values are to be found out; the others name places and forms."""
_SHORTEST = 3
"""Shorter texts are words like "no", and hiding them would hide too much."""
_LONG_FIGURE = 3
"""A figure with fewer digits occurs in the record of a trial for many reasons."""
_COMMON = 2
"""Words for numbers up to this one are hidden only where the verifier has that number."""
_NUMBER_WORDS: Mapping[str, int] = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
    "million": 1_000_000,
    "dozen": 12,
}
_SEVERAL_HIDDEN = re.compile(rf"{re.escape(HIDDEN)}(?: {re.escape(HIDDEN)})+")
_PUNCTUATION = "\"'`.,;:!?()[]{}"
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]{3,}")
_FEW = ("no", "one", "two", "three")


@dataclass(frozen=True)
class Policy:
    """What may be told to an agent about one task."""

    task: Task

    def requirement(self, leaf: Checkpoint) -> str:
        """Return a requirement without what it says of the expected outcome.

        Left out are figures and numbers in words, the texts that verifiers expect or look at, and
        names that rubrics and answers mention, unless the task itself states them.
        """
        # An answer may be one of several that the query names, and is one all the same.
        own = _longest_first({*_expected(leaf, _STATEMENTS), *self._untold(_expected(leaf))})
        text = _without(self._texts, _without(own, leaf.requirement, re.IGNORECASE))
        figures = frozenset(_figures_in([*_arguments(leaf), *_expected(leaf, _STATED)]))
        stated = frozenset(_figures_in(_expected(leaf, _STATED)))
        words = (self._without_figures(word, figures, stated) for word in text.split())
        return _SEVERAL_HIDDEN.sub(HIDDEN, " ".join(words))

    def quote(self, text: str) -> str:
        """Return words of the record without expected texts and longer expected figures."""
        return _FIGURE.sub(lambda match: self._quoted(match[0]), _without(self._texts, text))

    def may_name(self, text: str) -> bool:
        """Return whether the task itself states this text."""
        folded = text.casefold()
        if not folded or folded not in self._told:
            return False
        return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", self._told) is not None

    def count(self, right: int, asked: int) -> str:
        """Return how many of the parts asked for are right, such as `2 of 5` or `most of the`.

        How many are asked for is told only if no verifier expects that number; otherwise the
        count is told in words.
        """
        if _key(str(asked)) not in self._figures:
            return f"{right or 'none'} of {asked}"
        wrong = asked - right
        if right == 0:
            return "none of the"
        if 2 * right > asked:
            return f"all but {_FEW[wrong]} of the" if 0 < wrong < len(_FEW) else "most of the"
        return "about half of the" if 5 * right >= 2 * asked else "few of the"

    @cached_property
    def _told(self) -> str:
        brief = self.task.brief()
        named = (f"{file.name} {file.description}" for file in brief.deliverables)
        around = (brief.system_prompt, brief.role, *brief.domain_rules, *brief.tools)
        stated = (brief.query, *named, *brief.files, *around)
        return " ".join(stated).casefold()

    @cached_property
    def _told_words(self) -> frozenset[str]:
        return frozenset(word.strip(_PUNCTUATION) for word in self._told.split())

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """What is hidden in any text of the task where it is written in the same way.

        These are the expected texts, the other arguments of verifiers unless they are plain words,
        and the names in expected texts, rubrics and answers: words with a capital letter that the
        task never writes without one.
        """
        nodes = tuple(self.task.checkpoints.nodes())
        expected = {text for node in nodes for text in _expected(node)}
        others = {text for node in nodes for text in _arguments(node)}
        free = _free_texts(self.task)
        prose = " ".join([self.task.query, *(node.requirement for node in nodes), *free])
        common = {word for word in _WORD.findall(prose) if word.islower()}
        words = {word for text in (*expected, *free) for word in _WORD.findall(text)}
        names = {word for word in words if word[0].isupper() and word.casefold() not in common}
        plain = {text for text in others if text.isalpha() and text.islower()}
        # A name that the query offers as a candidate is an answer where a verifier asks for it.
        stated = {text for node in nodes for text in _expected(node, _STATEMENTS) if text.strip()}
        answers = {text for text in stated if text[0].isupper()}
        return _longest_first({*answers, *self._untold(expected | names | (others - plain))})

    @cached_property
    def _figures(self) -> frozenset[str]:
        """Numbers of the expected outcome that the task itself does not state."""
        nodes = tuple(self.task.checkpoints.nodes())
        texts = [node.requirement for node in nodes]
        texts += [text for leaf in nodes for text in (*_expected(leaf), *_arguments(leaf))]
        texts += _free_texts(self.task)
        return frozenset(_figures_in(texts)) - frozenset(_figures_in([self._told]))

    def _untold(self, texts: Iterable[str]) -> Iterator[str]:
        return (text for text in texts if not self.may_name(text))

    def _without_figures(self, word: str, own: frozenset[str], stated: frozenset[str]) -> str:
        """Return a word without numbers, in figures and in words.

        `own` are the numbers of the leaf's verifier, and `stated` those that are its answer.
        """
        bare = word.strip(_PUNCTUATION)
        told = bare.casefold() in self._told_words and not stated & {*_figures_in([bare])}
        if told:
            return word
        if any(char.isnumeric() for char in bare):
            return word.replace(bare, HIDDEN)
        # Twenty-one is one number, so one of its words hides the other.
        parts = [match.casefold() for match in _WORD.findall(bare)]
        numbers = [_NUMBER_WORDS[part] for part in parts if part in _NUMBER_WORDS]
        if not any(number > _COMMON or str(number) in own for number in numbers):
            return word
        return _WORD.sub(lambda m: HIDDEN if m[0].casefold() in _NUMBER_WORDS else m[0], word)

    def _quoted(self, figure: str) -> str:
        is_long = sum(c.isdigit() for c in figure) >= _LONG_FIGURE
        return HIDDEN if is_long and _key(figure) in self._figures else figure


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    kept = {text for text in texts if len(text) >= _SHORTEST}
    return tuple(sorted(kept, key=lambda text: (-len(text), text)))


def _without(hidden: Iterable[str], text: str, flags: int = 0) -> str:
    folded = text.casefold()
    for one in hidden:
        if one.casefold() in folded:
            text = re.sub(rf"(?<!\w)[-−]?{re.escape(one)}(?!\w)", HIDDEN, text, flags=flags)
    return text


def _key(figure: str) -> str:
    """Return the digits of a number, so that 1,234.50 and 1234.5 are one."""
    whole = figure.replace(",", "")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole


def _figures_in(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from map(_key, _FIGURE.findall(text))
        for word in _WORD.findall(text.casefold()):
            if word in _NUMBER_WORDS:
                yield str(_NUMBER_WORDS[word])


def _expected(leaf: Checkpoint, names: frozenset[str] = _EXPECTED) -> Iterator[str]:
    """Yield the texts and numbers that a leaf's verifier expects to find."""
    if (check := checked_by_code(leaf.verifier)) is not None:
        for name in names & check.args.keys():
            yield from _texts(check.args[name])
    elif isinstance(leaf.verifier, ToolResultCheck):
        yield from leaf.verifier.contains


def _arguments(leaf: Checkpoint) -> Iterator[str]:
    """Yield the other texts and numbers that a leaf's verifier is set up with."""
    verifier = leaf.verifier
    if (check := checked_by_code(verifier)) is not None:
        for name, value in check.args.items():
            yield from _keys(value)
            if name not in _EXPECTED:
                yield from _texts(value)
    if isinstance(verifier, AskedAgain):
        yield from (verifier.tool, verifier.path, *_texts(verifier.arguments))
    if isinstance(verifier, ToolResultCheck):
        yield from verifier.tools
    if isinstance(verifier, ScriptCheck):
        yield from (verifier.entry, *verifier.services)


def _free_texts(task: Task) -> tuple[str, ...]:
    """Return rubrics, answers and the words of the reference solution."""
    rubrics = (
        leaf.verifier.rubric
        for leaf in task.checkpoints.leaves()
        if isinstance(leaf.verifier, Judge)
    )
    answer = () if task.answer is None else _texts(task.answer.model_dump(mode="json"))
    said = () if task.reference is None else (task.reference.final_answer,)
    return (*rubrics, *answer, *said)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a value; the keys of objects are names, not values."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield f"{value:.15g}" if isinstance(value, float) else str(value)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list | tuple):
        for one in inner:
            yield from _keys(one)
