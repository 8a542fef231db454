"""Panels of judges: who they are, how their opinions become one score, and each opinion."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from taskdata.schema.base import Value
from taskdata.schema.tool_backends import NamedModel

PanelRule = Literal["mean", "median", "majority"]


class JudgeSpec(Value):
    """A judge and where it is asked."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    model: NamedModel
    """`provider/model`."""
    base_url: str | None = None
    """Endpoint; empty: the provider's own."""


def _named(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


NamedJudge = Annotated[JudgeSpec, BeforeValidator(_named)]
"""A judge, also given as `provider/model`."""


class JudgeOpinion(Value):
    """What one judge of a panel said about a leaf."""

    verifier: str
    """As in a leaf's score: `judge:openai/gpt-5.2@1`."""
    score: float | None = Field(default=None, ge=0, le=10)
    """None: it gave no verdict."""
    reason: str

    @property
    def name(self) -> str:
        """The judge's model, as its provider reported it."""
        return judge_named_in(self.verifier)


def judge_named_in(verifier: str) -> str:
    """Return the model in the name of a judged leaf's verifier."""
    return verifier.removeprefix("judge:").rpartition("@")[0]
