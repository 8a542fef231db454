"""The form in which a model writes a chain of tool calls, and its conversion."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from stages.construct.answers.forms import Form, Short
from stages.construct.answers.json_text import read_json
from taskdata.errors import BadTaskData
from taskdata.schema.task import ReferenceSolution, ReferenceStep

MAX_STEPS = 40
_MAX_ARGUMENT_BYTES = 60_000


class StepForm(Form):
    """One tool call."""

    tool: Short
    thought: Annotated[str, Field(max_length=1_000)]
    """Reason for the call, one sentence."""
    arguments: Annotated[str, Field(max_length=_MAX_ARGUMENT_BYTES)]
    """A JSON object in a text."""


class ReferenceForm(Form):
    """A solution: tool calls and the final answer."""

    steps: Annotated[tuple[StepForm, ...], Field(min_length=1, max_length=MAX_STEPS)]
    final_answer: Annotated[str, Field(max_length=20_000)]


def solution_of(steps: Sequence[StepForm], final_answer: str) -> ReferenceSolution:
    """Return the solution that a form describes, without recorded results.

    Raises:
        BadTaskData: if a step's arguments are not a JSON object; names the step.
    """
    chain = tuple(_step(number, step) for number, step in enumerate(steps, start=1))
    return ReferenceSolution(steps=chain, final_answer=final_answer)


def _step(number: int, form: StepForm) -> ReferenceStep:
    try:
        arguments = read_json(form.arguments or "{}", max_bytes=_MAX_ARGUMENT_BYTES)
    except BadTaskData as exc:
        raise BadTaskData(f"step {number}, {form.tool}: arguments: {exc}") from exc
    if not isinstance(arguments, dict):
        raise BadTaskData(f"step {number}, {form.tool}: arguments must be a JSON object in a text")
    return ReferenceStep(tool=form.tool, thought=form.thought, arguments=arguments)
