"""Agents: a harness plus a model plus settings, named `harness:provider/model`."""

import re
from typing import Self

from pydantic import Field

from taskdata.errors import Misuse
from taskdata.schema.base import Value

_NAME = re.compile(
    r"^(?P<harness>[a-z][a-z0-9_]*)(?::(?P<provider>[a-z][a-z0-9_\-]*)/(?P<model>[^\s]+))?$"
)


class ModelSpec(Value):
    """A model by provider, as in `openai/gpt-5.2` or `local/smollm2-135m`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `provider/model`, or raise `Misuse`."""
        provider, slash, model = text.partition("/")
        if not (slash and provider and model):
            raise Misuse(f"model {text!r}: expected provider/model, such as openai/gpt-5.2")
        return cls(provider=provider, model=model)


class Budget(Value):
    """What one trial may use; whichever is reached first ends it."""

    max_turns: int = Field(default=100, ge=1)
    max_tokens: int = Field(default=1_000_000, ge=1)
    """Input plus output tokens of all calls of the trial."""
    max_reply_tokens: int = Field(default=4096, ge=1)
    """Output tokens of one model call."""
    max_seconds: float = Field(default=1800, gt=0)
    max_usd: float | None = Field(default=None, ge=0)


class AgentSpec(Value):
    """What is evaluated; equal names with different settings are different agents."""

    harness: str
    model: ModelSpec | None = None
    temperature: float | None = Field(default=None, ge=0)
    base_url: str | None = None
    """Endpoint for provider `compatible`: any OpenAI-compatible server."""
    budget: Budget = Budget()

    @property
    def name(self) -> str:
        """`harness:provider/model`, or the bare harness."""
        return self.harness if self.model is None else f"{self.harness}:{self.model}"

    @classmethod
    def parse(cls, text: str, **settings: object) -> Self:
        """Read an agent's name, or raise `Misuse` with an example."""
        match = _NAME.match(text)
        if match is None:
            raise Misuse(
                f"agent {text!r}: expected a bare name (reference) or harness:provider/model "
                "(react:openai/gpt-5.2)"
            )
        model = None
        if match["provider"]:
            model = ModelSpec(provider=match["provider"], model=match["model"])
        return cls.model_validate({"harness": match["harness"], "model": model, **settings})
