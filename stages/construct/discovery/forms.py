"""The forms of the two questions: scenarios with their requests, and what becomes of each."""

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
    """What of the result can be looked up or measured to decide whether it is right."""


class ScenarioForm(Form):
    """A person's need, and who would be asked to meet it."""

    name: Short
    need: Sentence
    role: Short
    """Who is asked, by profession."""
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
    """Whether its result can be decided from what is delivered."""
    personal_data: bool
    """Whether it holds data by which a real person could be known or reached."""
    repeats: bool
    """Whether it asks for the same as another one."""
    verdict: Literal["keep", "mend", "drop"]
    text: Annotated[str, Field(max_length=4_000)]
    """The mended request; empty unless it is mended."""
    why: Sentence


class ReflectionForm(Form):
    """What becomes of every proposed request."""

    reviews: Annotated[tuple[ReviewForm, ...], Field(min_length=1, max_length=30)]
