"""What a model call costs, from the usage that the provider reports and a dated price table.

The bundled table is extended, and model by model overruled, by a file of the same form: the one
that `NIGHTSHIFT_PRICES` names, else `prices.yaml` in the folder of this installation's state.
"""

import os
import re
from datetime import date
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Self

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from taskdata.banks.loader import describe
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.transcript import Usage

PRICES_VARIABLE = "NIGHTSHIFT_PRICES"

UNPRICED = (
    "is not in the price table: give its price in prices.yaml (docs/agents.md, Prices), or leave "
    "the limit out"
)
"""What is said of a model whose calls cannot be held below a limit in USD."""

_HOME_VARIABLE = "NIGHTSHIFT_HOME"
_MAX_BYTES = 1_000_000
# A pinned snapshot (`gpt-5.2-2025-12-11`, `claude-opus-4-6-20260205`) costs what its model costs.
_SNAPSHOT = re.compile(
    r"-20\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])$", re.ASCII
)


class Rates(Value):
    """USD per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input tokens read from the provider's cache; None: unknown."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input tokens written to the provider's cache; None: as other input."""

    def usd(self, usage: Usage) -> float | None:
        """Return the cost of one call at these rates; None where they do not say."""
        if self.cached_input is None and usage.cached_input_tokens:
            return None
        write = self.input if self.cache_write is None else self.cache_write
        plain = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
        return (
            max(0, plain) * self.input
            + usage.cached_input_tokens * (self.cached_input or 0.0)
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        ) / 1_000_000


class Tier(Rates):
    """Rates of calls with long prompts: all of such a call is billed at them."""

    above_input_tokens: int = Field(ge=1)


class Price(Rates):
    """Price of one model."""

    tiers: tuple[Tier, ...] = ()
    """In rising order of their prompts' length."""
    max_input_tokens: int | None = Field(default=None, ge=1)
    """What a longer prompt costs is unknown."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if any(
            low.above_input_tokens >= high.above_input_tokens for low, high in pairwise(self.tiers)
        ):
            raise ValueError("tiers must be in rising order of above_input_tokens")
        return self

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of one call; None where this price does not cover it.

        `usage.input_tokens` include the cached and the written ones.
        """
        if self.max_input_tokens is not None and usage.input_tokens > self.max_input_tokens:
            return None
        reached = [t for t in self.tiers if usage.input_tokens > t.above_input_tokens]
        return (reached[-1] if reached else self).usd(usage)


class ProviderPrices(Value):
    """One provider's published prices on one day."""

    as_of: date
    source: str = Field(min_length=1, max_length=500)
    models: dict[str, Price | None]
    """None: the price is unknown, whatever another table says."""


PriceTable = dict[str, ProviderPrices]
FREE = Price(input=0, output=0, cached_input=0)
_TABLE = TypeAdapter(PriceTable)


def price_of(spec: ModelSpec) -> Price | None:
    """Return the price of a model; None where it is unknown, free for local models.

    Raises:
        Misuse: The user's own table does not fit; names file and field.
    """
    if spec.provider == "local":
        return FREE
    # `openai-chat` and `openai-responses` are ways to ask, not sellers.
    seller = "openai" if spec.provider.startswith("openai-") else spec.provider
    for table in (user_table(), price_table()):
        models = table[seller].models if seller in table else {}
        for name in (spec.model, _SNAPSHOT.sub("", spec.model)):
            if name in models:
                return models[name]
    return None


@cache
def price_table() -> PriceTable:
    """Return the bundled table by provider."""
    text = files("environments.models.money").joinpath("prices.yaml").read_text(encoding="utf-8")
    return _TABLE.validate_python(yaml.safe_load(text))


def user_table() -> PriceTable:
    """Return the user's own table by provider; empty where there is none.

    Raises:
        Misuse: The file is missing though it is named, or does not fit.
    """
    path = user_prices()
    if path is None:
        return {}
    try:
        changed = path.stat()
    except OSError as exc:
        raise Misuse(f"{PRICES_VARIABLE}={path}: cannot be read: {exc.strerror}") from exc
    return _read(path, changed.st_mtime_ns, changed.st_size)


def user_prices() -> Path | None:
    """Return the file of the user's own table, named or found; None where there is none."""
    named = os.environ.get(PRICES_VARIABLE, "").strip()
    if named:
        return Path(named)
    path = Path(os.environ.get(_HOME_VARIABLE) or ".nightshift") / "prices.yaml"
    return path if path.exists() else None


@cache
def _read(path: Path, changed_ns: int, size: int) -> PriceTable:
    """Read a table; kept until the file changes."""
    if size > _MAX_BYTES:
        raise Misuse(f"prices {path}: has {size} bytes, and at most {_MAX_BYTES} are read")
    try:
        return _TABLE.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except ValidationError as exc:
        raise Misuse(f"prices {path}: {describe(exc)}") from exc
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as exc:
        cause = " ".join(str(exc).split())[:300]
        raise Misuse(f"prices {path}: is not readable YAML: {cause}") from exc
