"""What an agent is told about its previous attempt (GTA-2, section 6.5).

`coarse` says that the result is not right. `checkpoint` says which requirements are not met and how
far, and what happened to the deliverables.

The reason of a leaf's score is never passed on: it states what was expected and what was found,
which would give the agent the answers that it is evaluated on. A requirement may also quote an
answer ("the total is 4,812", "five of them failed"). So its figures, its numbers in words and the
texts that its verifier expects are left out, unless the task itself states them.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from stages.diagnose.signals import LeafSignal, Signals, one_line
from taskdata.schema.arms import Arm
from taskdata.schema.checkpoint import Checkpoint, ToolResultCheck, checked_by_code
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending

LEAVES_NAMED = 6
REQUIREMENT_LENGTH = 160
_HIDDEN = "[…]"
_ANSWER_ARGS = ("all", "expected", "values", "rows", "cells")
"""Arguments of checks that contain what is to be found out; the others describe form."""
_SHORTEST_ANSWER = 3
"""Shorter expected texts are words like "no", and hiding them would hide too much."""
_NUMBER_WORDS = re.compile(
    "three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred",
    re.IGNORECASE,
)
_PUNCTUATION = "\"'`.,;:!?()[]{}"


def feedback(kind: Arm, task: Task, signals: Signals) -> str:
    """Return the feedback on a scored trial of `task` that did not succeed."""
    if kind == "coarse":
        return _template("coarse_v1").render().strip()
    short = sorted((leaf for leaf in signals.leaves if leaf.score < 10), key=lambda x: -x.lost)
    return (
        _template("checkpoint_v1")
        .render(
            score=f"{signals.root_score:.1f}",
            facts=list(_facts(signals)),
            leaves=[_line(leaf, task) for leaf in short[:LEAVES_NAMED]],
            more=max(0, len(short) - LEAVES_NAMED),
        )
        .strip()
    )


@cache
def _template(name: str) -> jinja2.Template:
    text = (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # noqa: S701 - plain text for a model, never HTML
    )
    return environment.from_string(text)


def _facts(signals: Signals) -> Iterator[str]:
    """Yield facts about the end of the attempt that the agent could have seen itself."""
    if signals.tried_nothing:
        yield "Nothing was tried: no tool was called, no file left and no answer given."
    if signals.ending is not Ending.FINISHED:
        yield f"The attempt ended {signals.ending.replace('_', ' ')}."
    for name in signals.missing:
        yield f"Missing: {name}."
    for name in signals.misnamed:
        yield f"Not asked for, perhaps misnamed: {one_line(name)}."
    for name in signals.unreadable:
        yield f"Could not be opened: {name}."
    for refused in signals.rejected:
        yield f"Not accepted: {one_line(refused)}."


def _line(leaf: LeafSignal, task: Task) -> dict[str, str]:
    requirement = without_answers(leaf.checkpoint, task)
    return {"score": f"{leaf.score:.0f}", "requirement": one_line(requirement, REQUIREMENT_LENGTH)}


def without_answers(leaf: Checkpoint, task: Task) -> str:
    """Return the leaf's requirement without figures and expected texts that the task hides."""
    told = " ".join(
        [task.query, *(f"{d.name} {d.description}" for d in task.deliverables)]
        + [f.path for f in task.files]
    )
    known = {word.strip(_PUNCTUATION).casefold() for word in told.split()}
    text = leaf.requirement
    for expected in sorted(_expected(leaf), key=len, reverse=True):
        if len(expected) >= _SHORTEST_ANSWER and expected.casefold() not in told.casefold():
            text = re.sub(rf"(?<!\w)[-−]?{re.escape(expected)}(?!\w)", _HIDDEN, text, flags=re.I)
    words = [_hidden_figure(word, known) for word in text.split()]
    return " ".join(words)


def _hidden_figure(word: str, known: set[str]) -> str:
    bare = word.strip(_PUNCTUATION)
    is_figure = any(c.isdigit() for c in bare) or _NUMBER_WORDS.fullmatch(bare)
    return word.replace(bare, _HIDDEN) if is_figure and bare.casefold() not in known else word


def _expected(leaf: Checkpoint) -> set[str]:
    if (check := checked_by_code(leaf.verifier)) is not None:
        args = check.args
        return {text for name in _ANSWER_ARGS for text in _texts(args.get(name))}
    if isinstance(leaf.verifier, ToolResultCheck):
        return set(leaf.verifier.contains)
    return set()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
