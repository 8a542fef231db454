"""Tasks whose verifiers hold distinctive values, and a search for these values in a text."""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from stages.score.library import validate_check
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import (
    AskedAgain,
    Check,
    Checkpoint,
    Judge,
    ScriptCheck,
    ToolResultCheck,
    Verifier,
)
from taskdata.schema.task import ObjectiveAnswer, ReferenceSolution, SubjectiveAnswer, Task

Fill = Callable[[Any], Any]


class Planter:
    """Replaces the values that a task's verifiers hold; equal values stay equal."""

    def __init__(self) -> None:
        self.planted: list[str] = []
        self.left: set[tuple[str, str]] = set()
        """Check and argument of values that no distinctive one could replace."""
        self._count = itertools.count(11)
        self._same: dict[tuple[str, Any], Any] = {}

    def task(self, task: Task) -> Task:
        """Return the task with planted verifiers, reference and answer."""
        changes: dict[str, Any] = {"checkpoints": self._node(task.checkpoints)}
        if task.reference is not None:
            changes["reference"] = ReferenceSolution(steps=(), final_answer=self._prose())
        if isinstance(task.answer, ObjectiveAnswer):
            changes["answer"] = ObjectiveAnswer(whitelist=((self._prose(),),))
        if isinstance(task.answer, SubjectiveAnswer):
            texts = (self._prose(), self._prose(), self._prose())
            changes["answer"] = SubjectiveAnswer(references=texts)
        planted = task.model_copy(update=changes)
        held = planted.canonical_json()
        # Values that did not fit their argument were replaced by others.
        self.planted = [value for value in self.planted if value in held]
        return planted

    def text(self, was: Any = None) -> str:
        """Return a new distinctive word, or the one that stands for an earlier value already."""
        return str(self._kept("text", was, lambda n: f"Quokka{n:04d}x"))

    def number(self, was: Any = None) -> int:
        """Return a new distinctive whole number, or the one for an earlier value."""
        return int(self._kept("number", was, lambda n: 7_310_000 + n))

    def _node(self, node: Checkpoint) -> Checkpoint:
        if node.verifier is None:
            children = tuple(map(self._node, node.children))
            return node.model_copy(update={"children": children})
        before = len(self.planted)
        verifier = self._verifier(node.verifier)
        new = self.planted[before:] or self.planted[-1:]
        quoted = f"{node.requirement} It says {', '.join(new[:9])}; not {new[-1]}."
        return node.model_copy(update={"verifier": verifier, "requirement": quoted})

    def _verifier(self, verifier: Verifier) -> Verifier:
        if isinstance(verifier, Check):
            return self._check(verifier)
        if isinstance(verifier, Judge):
            return verifier.model_copy(update={"rubric": self._prose()})
        if isinstance(verifier, ToolResultCheck):
            texts = tuple(map(self.text, verifier.contains)) or (self.text(),)
            return verifier.model_copy(update={"tools": (self.text(),), "contains": texts})
        if isinstance(verifier, AskedAgain):
            arguments = {"id": self.text()}
            check = self._check(verifier.check)
            return verifier.model_copy(update={"arguments": arguments, "check": check})
        assert isinstance(verifier, ScriptCheck)
        return verifier.model_copy(update={"entry": f"{self.text()}.py"})

    def _check(self, check: Check) -> Check:
        whole = {name: self._filled(value, self._plain) for name, value in check.args.items()}
        filled = check.model_copy(update={"args": whole})
        if _is_valid(filled):
            return filled
        for name, value in check.args.items():
            for fill in (
                self._plain,
                self._share,
                self._ordered,
                self._colour,
                self._address,
                self._small,
            ):
                one = check.args | {name: self._filled(value, fill)}
                if _is_valid(check.model_copy(update={"args": one})):
                    check = check.model_copy(update={"args": one})
                    break
            else:
                self.left.add((check.name, name))
        return check

    def _filled(self, value: Any, fill: Fill) -> Any:
        if isinstance(value, dict):
            keyed = ((self._key(key, fill), inner) for key, inner in value.items())
            return {key: self._filled(inner, fill) for key, inner in keyed}
        if isinstance(value, list | tuple):
            return [self._filled(inner, fill) for inner in value]
        return value if value is None or isinstance(value, bool) else fill(value)

    def _key(self, key: str, fill: Fill) -> Any:
        return self._address(key) if fill == self._address else self.text(key)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float):
            return self._kept("decimal", value, lambda n: 7_310_000.25 + n)
        return self.number(value)

    def _share(self, value: Any) -> Any:
        return self._kept("share", value, lambda n: 0.73 + n / 1_000_000 + 1e-7)

    def _ordered(self, value: Any) -> Any:
        return self._kept("ordered", object(), lambda n: 0.73 + n / 1_000_000 + 1e-7)

    def _colour(self, value: Any) -> Any:
        return self._kept("colour", value, lambda n: f"#A7{n:04d}")

    def _address(self, value: Any) -> Any:
        place = self._kept("address", value, lambda n: f"QX{n + 70_000}")
        return f"{place}:{place}" if ":" in str(value) else place

    def _small(self, value: Any) -> Any:
        return self._kept("small", value, lambda n: n / 8 + 90.0078125)

    def _prose(self) -> str:
        return f"The right one is {self.text()}, at {self.number()}."

    def _kept(self, kind: str, was: Any, make: Callable[[int], Any]) -> Any:
        key = (kind, was)
        if was is None or key not in self._same:
            made = make(next(self._count))
            self._same[key] = made
            self.planted.append(_written(made))
        return self._same[key]


def leaks(text: str, planted: list[str]) -> Iterator[str]:
    """Yield the planted values in a text, however their case and digits are written."""
    folded = text.casefold()
    grouped = re.sub(r"(?<=\d)[,.'\u202f\u00a0 ](?=\d{3}\b)", "", folded)
    for value in planted:
        if value.casefold() in folded or value.casefold() in grouped:
            yield value


def _is_valid(check: Check) -> bool:
    try:
        validate_check(check)
    except BadTaskData:
        return False
    return True


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
