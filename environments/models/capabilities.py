"""Input kinds and context windows of models: a dated table, like that of the prices."""

import re
from datetime import date
from functools import cache
from importlib.resources import files

import yaml
from pydantic import Field

from environments.models.registry import takes_audio
from taskdata.schema.agent import AgentSpec, InputKind, ModelSpec
from taskdata.schema.base import Value

# A pinned snapshot (`gpt-5.2-2025-12-11`, `claude-opus-4-6-20260205`) has its model's abilities.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


class Capabilities(Value):
    """What is known about one model."""

    inputs: tuple[InputKind, ...] = ()
    """Kinds of files that the model reads natively."""
    window_tokens: int | None = Field(default=None, ge=1)
    """Longest input in tokens; None: unknown."""


class ProviderCapabilities(Value):
    """One provider's models as published on a certain day."""

    as_of: date
    source: str
    models: dict[str, Capabilities]


NOTHING_KNOWN = Capabilities()


@cache
def capability_table() -> dict[str, ProviderCapabilities]:
    """Return the bundled table by provider."""
    text = files("environments.models").joinpath("capabilities.yaml").read_text(encoding="utf-8")
    return {
        name: ProviderCapabilities.model_validate(raw) for name, raw in yaml.safe_load(text).items()
    }


def capabilities_of(spec: ModelSpec) -> Capabilities:
    """Return what is known about a model; `NOTHING_KNOWN` if it is not in the table."""
    # `openai-chat` and `openai-responses` are wire formats of one provider.
    seller = "openai" if spec.provider.startswith("openai-") else spec.provider
    provider = capability_table().get(seller)
    if provider is None:
        return NOTHING_KNOWN
    models = provider.models
    return models.get(spec.model) or models.get(_SNAPSHOT.sub("", spec.model)) or NOTHING_KNOWN


def native_inputs(agent: AgentSpec) -> tuple[InputKind, ...]:
    """Return the kinds of input files that the agent's model is given directly.

    They are those that the agent names, or else those that its model is known to read, except
    recordings if the provider's format cannot carry audio.

    Raises:
        Misuse: see `takes_audio`.
    """
    if agent.model is None:
        return ()
    kinds = agent.native_inputs
    if kinds is None:
        kinds = capabilities_of(agent.model).inputs
    if "audio" in kinds and not takes_audio(agent.model, agent.base_url):
        return tuple(kind for kind in kinds if kind != "audio")
    return kinds
