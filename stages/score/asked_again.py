"""Scores leaves that depend on the answer of a tool that was called again right after the trial.

The answers are kept with the trial, so that every scoring of it uses the same ones. This module
turns such a leaf into an ordinary check, and replaces `{answer}` in its arguments by the answer.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from stages.score.checks.structured import ABSENT, at_path
from stages.score.library import validate_check
from taskdata.errors import BadTaskData
from taskdata.schema.asked_again import ANSWER, ToolAnswer, answer_file
from taskdata.schema.checkpoint import AskedAgain, Check, Checkpoint
from taskdata.schema.run import Deliverable
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.task import Task

_LABEL = "asked_again:tool@1"


def with_answers(
    task: Task, delivered: Sequence[Deliverable], read: Callable[[str], bytes]
) -> tuple[Task, dict[str, LeafScore]]:
    """Return the task with an ordinary check in place of each `asked_again` verifier.

    The returned scores are those of leaves without an answer to compare with. They are unscored;
    only where the tool asks a service of the trial can the agent be the cause. `read` returns the
    bytes of an artifact; it blocks.
    """
    kept = {file.name: file.sha256 for file in delivered}
    checks, unscored = dict[str, Check](), dict[str, LeafScore]()
    for leaf in task.checkpoints.leaves():
        if isinstance(leaf.verifier, AskedAgain):
            sha256 = kept.get(answer_file(leaf.id))
            made = check_of(leaf.verifier, None if sha256 is None else read(sha256))
            if isinstance(made, Check):
                checks[leaf.id] = made
            else:
                unscored[leaf.id] = _unscored(leaf.id, made, _cause(task, sha256))
    if not checks and not unscored:
        return task, {}
    return task.model_copy(update={"checkpoints": _with(task.checkpoints, checks)}), unscored


class _Lacking(Exception):
    """There is no answer to compare with; the message says why."""


def check_of(verifier: AskedAgain, kept: bytes | None) -> Check | str:
    """Return the check with the answer that was kept, or why there is none to compare with."""
    try:
        check = filled(verifier.check, _value(verifier, kept))
        validate_check(check)
    except (_Lacking, BadTaskData) as exc:
        return str(exc)
    return check


def _value(verifier: AskedAgain, kept: bytes | None) -> Any:
    if kept is None:
        raise _Lacking("no tool was called again after this trial")
    try:
        answer = ToolAnswer.model_validate_json(kept)
    except ValidationError as exc:
        raise _Lacking("the answer that was kept cannot be read") from exc
    if answer.error is not None:
        said = f"{verifier.tool} gave no answer when it was called again: {answer.error}"
        raise _Lacking(said)
    value: Any = answer.text.strip()
    if verifier.path:
        try:
            value = at_path(json.loads(answer.text), verifier.path)
        except ValueError as exc:
            said = f"{verifier.tool} did not answer with JSON when it was called again"
            raise _Lacking(said) from exc
        if value is ABSENT:
            raise _Lacking(f"the answer of {verifier.tool} has nothing at {verifier.path}")
    return value if verifier.first_chars is None else str(value)[: verifier.first_chars]


def filled(check: Check, value: Any) -> Check:
    """Return the check with the answer in place of `{answer}` in its arguments.

    An argument that is exactly `{answer}` becomes the value itself, so that numbers stay numbers.
    """
    return check.model_copy(update={"args": _filled(check.args, value)})


def _filled(given: Any, value: Any) -> Any:
    if given == ANSWER:
        return value
    if isinstance(given, str):
        return given.replace(ANSWER, str(value))
    if isinstance(given, dict):
        return {key: _filled(inner, value) for key, inner in given.items()}
    return [_filled(inner, value) for inner in given] if isinstance(given, list | tuple) else given


def _with(node: Checkpoint, checks: dict[str, Check]) -> Checkpoint:
    if node.id in checks:
        return node.model_copy(update={"verifier": checks[node.id]})
    children = tuple(_with(child, checks) for child in node.children)
    return node.model_copy(update={"children": children}) if children else node


def _cause(task: Task, answer: str | None) -> Unscored:
    # What a service of the trial does not answer any more may be gone because of the agent.
    return Unscored.CHECK_FAILED if answer and task.services else Unscored.NOT_OBSERVED


def _unscored(leaf_id: str, reason: str, cause: Unscored) -> LeafScore:
    return LeafScore(
        leaf_id=leaf_id,
        score=None,
        verifier=_LABEL,
        reason=reason,
        unscored=cause,
    )
