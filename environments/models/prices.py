"""What a model call costs, from the usage that the provider reports and a dated price table."""

import re
from datetime import date
from functools import cache
from importlib.resources import files

import yaml
from pydantic import Field

from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.transcript import Usage

# A pinned snapshot (`gpt-5.2-2025-12-11`, `claude-opus-4-6-20260205`) costs what its model costs.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


class Price(Value):
    """Price of one model in USD per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float = Field(ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    """Of input tokens written to the provider's cache; None: as other input."""
    max_input_tokens: int | None = None
    """A longer prompt is billed at another rate."""

    def cost_usd(self, usage: Usage, cache_write_tokens: int = 0) -> float | None:
        """Return the cost of one call; None where this price does not cover it.

        Args:
            usage: Its `input_tokens` include the cached and the written ones.
            cache_write_tokens: Input tokens that the provider wrote to its cache.
        """
        if self.max_input_tokens is not None and usage.input_tokens > self.max_input_tokens:
            return None
        write = self.input if self.cache_write is None else self.cache_write
        plain = usage.input_tokens - usage.cached_input_tokens - cache_write_tokens
        return (
            max(0, plain) * self.input
            + usage.cached_input_tokens * self.cached_input
            + cache_write_tokens * write
            + usage.output_tokens * self.output
        ) / 1_000_000


class ProviderPrices(Value):
    """One provider's published prices on one day."""

    as_of: date
    source: str
    models: dict[str, Price]


FREE = Price(input=0, output=0, cached_input=0)


@cache
def price_table() -> dict[str, ProviderPrices]:
    """Return the bundled table by provider."""
    text = files("environments.models").joinpath("prices.yaml").read_text(encoding="utf-8")
    return {name: ProviderPrices.model_validate(raw) for name, raw in yaml.safe_load(text).items()}


def price_of(spec: ModelSpec) -> Price | None:
    """Return the price of a model; None where it is unknown, free for local models."""
    if spec.provider == "local":
        return FREE
    prices = price_table().get(spec.provider)
    if prices is None:
        return None
    return prices.models.get(spec.model) or prices.models.get(_SNAPSHOT.sub("", spec.model))
