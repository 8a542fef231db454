"""The form of a new atomic task: question, solution and answer (GTA, section 3.2)."""

from typing import Annotated, Literal

from pydantic import Field

from stages.construct.answers.forms import Form, Short
from stages.construct.proof.chain_form import StepForm
from taskdata.schema.base import RelativePath
from taskdata.schema.task import Category

MAX_ATOMIC_STEPS = 12
"""GTA's own chains have 2 to 8 steps (GTA, section 3.4)."""

Alias = Annotated[str, Field(min_length=1, max_length=200)]


class StatementForm(Form):
    """One thing that a right answer states."""

    ways_to_say_it: Annotated[tuple[Alias, ...], Field(min_length=1, max_length=12)]


class AtomicForm(Form):
    """An atomic task with its solution."""

    title: Short
    query: Annotated[str, Field(min_length=20, max_length=4_000)]
    category: Category
    files: Annotated[tuple[RelativePath, ...], Field(max_length=20)]
    """The exemplar's files that the question is about."""
    tools: Annotated[tuple[Short, ...], Field(min_length=1, max_length=8)]
    """The tools that the solution uses."""
    steps: Annotated[tuple[StepForm, ...], Field(min_length=2, max_length=MAX_ATOMIC_STEPS)]
    final_answer: Annotated[str, Field(min_length=1, max_length=4_000)]
    answer_kind: Literal["objective", "subjective"]
    states: Annotated[tuple[StatementForm, ...], Field(min_length=1, max_length=8)]
    """The statements of every right answer."""
    wrong: Annotated[tuple[Alias, ...], Field(max_length=20)]
    """What an objective answer contains only if it is wrong."""
    references: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=4_000)], ...], Field(max_length=3)
    ]
    """Three right answers in different words for a subjective answer, else none."""
