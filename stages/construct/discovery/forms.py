"""The forms of the model's two answers: scenarios with their requests, and a review of each."""

from typing import Annotated, Literal

from pydantic import Field

from stages.construct.answers.forms import Form, Sentence, Short
from taskdata.schema.package import Difficulty

Request = Annotated[str, Field(min_length=1, max_length=4_000)]


class RequestForm(Form):
    """What the person of a scenario might ask for."""

    difficulty: Difficulty
    text: Request
    verified_by: Sentence
    """What can be looked up or measured in the result to decide whether it is right."""


class ScenarioForm(Form):
    """A person's need, and who would be asked to meet it."""

    name: Short
    need: Sentence
    role: Short
    """The profession of the one who is asked."""
    tools: Annotated[tuple[Short, ...], Field(min_length=1, max_length=20)]
    """Names of tools and servers that the work plausibly needs."""
    requests: Annotated[tuple[RequestForm, ...], Field(min_length=1, max_length=3)]
    """At most one of each difficulty."""


class ScenariosForm(Form):
    """The proposals."""

    scenarios: Annotated[tuple[ScenarioForm, ...], Field(min_length=1, max_length=10)]


class ReviewForm(Form):
    """What becomes of one proposed request."""

    number: Annotated[int, Field(ge=1, le=1_000)]
    two_tools: bool
    """Whether it needs at least two of the tools that its scenario names."""
    verifiable: bool
    """Whether the deliverables show if the result is right."""
    personal_data: bool
    """Whether it holds data that identify a real person or a way to contact one."""
    repeats: bool
    """Whether it asks for the same as another request."""
    verdict: Literal["keep", "mend", "drop"]
    text: Annotated[str, Field(max_length=4_000)]
    """The changed request where the verdict is `mend`; empty otherwise."""
    why: Sentence


class ReflectionForm(Form):
    """The model's reviews of all proposed requests."""

    reviews: Annotated[tuple[ReviewForm, ...], Field(min_length=1, max_length=30)]
