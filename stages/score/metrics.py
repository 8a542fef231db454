"""End-to-end metrics of the atomic tier, from the transcripts of our own trials.

They stand beside the root score, which comes from the checkpoints, and never change it.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from quality.atomic.messages import Message
from quality.atomic.traces import score_trace
from quality.encoders.choosing import find_encoder, find_minilm
from quality.encoders.encoder import Similarity
from taskdata.formats.gta.tools import CATEGORIES
from taskdata.schema.atomic import EndToEndScore
from taskdata.schema.scores import NodeScore
from taskdata.schema.task import (
    Answer,
    ObjectiveAnswer,
    ReferenceStep,
    SubjectiveAnswer,
    Task,
    Tier,
)
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.tool_use import ENDING_TOOLS
from taskdata.schema.transcript import Transcript

_CATEGORIES = {tool: category.value for tool, category in CATEGORIES.items()}


def with_metrics(
    root: NodeScore, task: Task, transcript: Transcript | None, encoder: str | None
) -> NodeScore:
    """Return the root with the metrics of its tier beside its score.

    Args:
        root: The score.
        task: What was scored.
        transcript: None: there is none.
        encoder: The run's sentence encoder, by its configuration.

    Raises:
        Misuse: The encoder is needed and cannot be used.
    """
    return root.model_copy(update={"end_to_end": end_to_end(task, transcript, encoder)})


def end_to_end(
    task: Task, transcript: Transcript | None, encoder: str | None
) -> EndToEndScore | None:
    """Return what a trial's trace earns beside the task's reference (GTA, section 4.1).

    None: the task is of another tier, has no reference or answer, or the calls were not recorded.
    """
    if task.tier is not Tier.ATOMIC or task.reference is None or task.answer is None:
        return None
    if transcript is None or not transcript.calls_are_known:
        return None
    trace = [
        _call(event.call.tool, event.call.arguments or {}, event.error)
        for event in transcript.tool_events
        if event.call.tool not in ENDING_TOOLS
    ]
    trace.append({"role": "assistant", "content": transcript.final_answer})
    wanted = [_step(step) for step in task.reference.steps if step.tool not in ENDING_TOOLS]
    return score_trace(
        [Message(raw, f"trace of {task.id}") for raw in trace],
        [Message(raw, f"reference of {task.id}") for raw in wanted],
        _published(task.answer),
        similarity_for(task, encoder),
        _CATEGORIES | {spec.name: spec.category.value for spec in transcript.tools},
    )


def similarity_for(task: Task, encoder: str | None) -> Similarity | None:
    """Return what compares meanings in a run; None where the task needs none, or none is here.

    Args:
        task: What is scored.
        encoder: As the run's configuration names it; None: the light one, if it is installed.

    Raises:
        Misuse: The encoder that is named cannot be used.
    """
    if task.answer is None or isinstance(task.answer, ObjectiveAnswer):
        return None
    return _similarity_of(encoder)


@lru_cache(maxsize=2)
def _similarity_of(encoder: str | None) -> Similarity | None:
    # One for the whole process: loading takes longer than all comparisons of a trial.
    if encoder is None:
        found = find_minilm()
    else:
        found = find_encoder(encoder, Path(os.environ.get("NIGHTSHIFT_HOME") or ".nightshift"))
    return None if found is None else Similarity(found)


def _step(step: ReferenceStep) -> dict[str, Any]:
    return _call(step.tool, step.arguments, None)


def _call(tool: str, arguments: dict[str, Any], error: ToolErrorKind | None) -> dict[str, Any]:
    function = {"name": tool, "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"type": "function", "function": function}]}
    return message if error is None else message | {"error": error.value}


def _published(answer: Answer) -> Any:
    """Return the answer as the benchmark writes it."""
    if isinstance(answer, ObjectiveAnswer):
        return {"whitelist": answer.whitelist, "blacklist": answer.blacklist}
    return answer.references if isinstance(answer, SubjectiveAnswer) else None
