"""What a trace of the atomic tier earns in end-to-end mode (GTA, section 4.1)."""

from enum import StrEnum

from pydantic import Field

from taskdata.schema.base import Value


class AnswerKind(StrEnum):
    """What a task of the atomic tier asks for (GTA, section 3.3)."""

    OBJECTIVE = "objective"
    SUBJECTIVE = "subjective"
    IMAGE_GENERATION = "image_generation"

    @property
    def is_text(self) -> bool:
        """Whether there is a text to compare an answer with."""
        return self is not AnswerKind.IMAGE_GENERATION


class ToolMatch(Value):
    """Calls of one category of tools in a trace, beside those of the reference."""

    reference: int = Field(default=0, ge=0)
    """Calls in the reference."""
    found: int = Field(default=0, ge=0)
    """Of these, calls whose tool occurs anywhere in the trace, faulty calls included."""
    predicted: int = Field(default=0, ge=0)
    """Calls in the trace, faulty ones included."""
    matched: int = Field(default=0, ge=0)
    """Calls of the reference that have a faultless call of the same tool to themselves."""


class EndToEndScore(Value):
    """One trace against its reference."""

    tools: dict[str, ToolMatch] = Field(default_factory=dict)
    """By category: perception, operation, logic, creativity."""
    tool_calls: int = Field(default=0, ge=0)
    tool_errors: int = Field(default=0, ge=0)
    kind: AnswerKind
    score: float | None = None
    """Of the answer, or of the arguments of image-generating calls; 0 to 1.0000001.

    None: meanings have to be compared, and nothing here does that.
    """
    score_mended: float | None = Field(default=None, ge=0, le=1)
    """The same by rules that are mended. None also for an image-generation task whose reference
    calls no tool that generates an image."""
    encoder: str | None = None
    """The sentence encoder that had a part in the scores; None: none was needed."""
