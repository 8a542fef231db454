"""Finished tasks that show a model what is wanted: their selection and shortening."""

import hashlib
from collections.abc import Sequence
from typing import Any

from stages.construct.answers.drafts import draft_from, shown_draft
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Judge
from taskdata.schema.construct import Candidate
from taskdata.schema.task import Task

_TEXT_CHARACTERS = 1_500
_ARGS_CHARACTERS = 400
_NODES = 12


def choose(candidate: Candidate, tasks: Sequence[Task], most: int) -> tuple[Task, ...]:
    """Return up to `most` exemplars for a candidate: deterministic, of different categories.

    They have the candidate's tier, and only verifiers that a model may use.
    """
    fit = [task for task in tasks if task.tier == candidate.tier and _can_be_shown(task)]
    ranked = sorted(fit, key=lambda task: _rank(candidate.id, task.id))
    first_of_category: dict[str, Task] = {}
    for task in ranked:
        first_of_category.setdefault(task.category, task)
    return tuple(first_of_category.values())[:most]


def shortened(task: Task) -> dict[str, Any]:
    """Return a task in the form in which a model would write it, long texts and trees cut."""
    shown = shown_draft(draft_from(task))
    nodes = shown["checkpoints"][:_NODES]
    for node in nodes:
        node["args"] = _cut(node["args"], _ARGS_CHARACTERS)
        node["rubric"] = _cut(node["rubric"], _ARGS_CHARACTERS)
    return shown | {"query": _cut(shown["query"], _TEXT_CHARACTERS), "checkpoints": nodes}


def _can_be_shown(task: Task) -> bool:
    if any(not isinstance(leaf.verifier, Check | Judge) for leaf in task.checkpoints.leaves()):
        return False
    try:
        draft_from(task)
    except BadTaskData:  # an imported task may be larger than a draft can be
        return False
    return True


def _rank(candidate_id: str, task_id: str) -> str:
    return hashlib.sha256(f"{candidate_id}\n{task_id}".encode()).hexdigest()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
