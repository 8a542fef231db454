"""What a model call costs, from the usage that the provider reports and a price list.

The list is part of the installed package `genai-prices`; nothing is downloaded at run time. A file
of the user overrides it per model: the file that `NIGHTSHIFT_PRICES` names, else `prices.yaml` in
the state folder of this installation.
"""

import os
import re
from datetime import UTC, date, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from taskdata.banks.loader import describe
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.transcript import Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import MatchLogic, ModelInfo, ModelPrice, TieredPrices

PRICES_VARIABLE = "NIGHTSHIFT_PRICES"

UNPRICED = (
    "is not in the price table: give its price in prices.yaml (docs/agents.md, Prices), or leave "
    "the limit out"
)
"""Message for a model whose calls cannot be limited in USD."""

_HOME_VARIABLE = "NIGHTSHIFT_HOME"
_MAX_BYTES = 1_000_000
_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
"""Field of `Rates`, and its name in the package."""
_COVERED = frozenset(
    {*_RATES.values(), "cache_write_1h_mtok", "web_searches_kcount", "storage_searches_kcount"}
)
"""The prices that `Usage` covers, and prices of features that our requests never use."""
# A pinned snapshot (`gpt-5.2-2025-12-11`, `claude-opus-4-6-20260205`) costs as much as its model.
_SNAPSHOT = re.compile(
    r"-20\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])$", re.ASCII
)


class Rates(Value):
    """USD per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of input tokens read from the provider's cache; None: unknown."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of input tokens written to the provider's cache; None: as other input."""

    def usd(self, usage: Usage) -> float | None:
        """Return the cost of one call at these rates; None if a needed rate is unknown."""
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
    """Rates of calls with long prompts; they apply to all tokens of such a call."""

    above_input_tokens: int = Field(ge=1)


class Price(Rates):
    """Price of one model."""

    tiers: tuple[Tier, ...] = ()
    """In ascending order of prompt length."""
    max_input_tokens: int | None = Field(default=None, ge=1)
    """The price of a longer prompt is unknown."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if any(
            low.above_input_tokens >= high.above_input_tokens for low, high in pairwise(self.tiers)
        ):
            raise ValueError("tiers must be in rising order of above_input_tokens")
        return self

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of one call; None if this price does not cover it.

        `usage.input_tokens` include cached and written tokens.
        """
        if self.max_input_tokens is not None and usage.input_tokens > self.max_input_tokens:
            return None
        reached = [t for t in self.tiers if usage.input_tokens > t.above_input_tokens]
        return (reached[-1] if reached else self).usd(usage)


class ProviderPrices(Value):
    """One provider's published prices on a certain day."""

    as_of: date
    source: str = Field(min_length=1, max_length=500)
    models: dict[str, Price | None]
    """None: the price is unknown, even if another table has one."""


PriceTable = dict[str, ProviderPrices]
FREE = Price(input=0, output=0, cached_input=0)
_TABLE = TypeAdapter(PriceTable)


def price_of(spec: ModelSpec) -> Price | None:
    """Return today's price of a model; None if it is unknown; local models are free.

    Raises:
        Misuse: the user's own table is invalid; names file and field.
    """
    if spec.provider == "local":
        return FREE
    # `openai-chat` and `openai-responses` are wire formats of one provider.
    seller = "openai" if spec.provider.startswith("openai-") else spec.provider
    names = (spec.model, _SNAPSHOT.sub("", spec.model))
    table = user_table()
    own = table[seller].models if seller in table else {}
    for name in names:
        if name in own:
            return own[name]
    listed = next((found for name in names if (found := _listed(seller, name))), None)
    return _price(listed.get_prices(datetime.now(UTC))) if listed else None


@cache
def _listed(seller: str, name: str) -> "ModelInfo | None":
    """Return the package's entry for exactly this name.

    Many entries of the package also match names that only start with theirs. A variant of a model
    may cost several times as much, so such a match does not count.
    """
    from genai_prices.data import providers
    from genai_prices.data_snapshot import find_provider_by_id

    provider = find_provider_by_id(providers, seller)
    found = provider.find_model(name, all_providers=providers) if provider else None
    return found if found and (found.id == name or _names(found.match, name)) else None


def _names(match: "MatchLogic", name: str) -> bool:
    from genai_prices.types import ClauseEquals, ClauseOr

    if isinstance(match, ClauseOr):
        return any(_names(part, name) for part in match.or_)
    return isinstance(match, ClauseEquals) and match.is_match(name)


def _price(listed: "ModelPrice") -> Price | None:
    """Return a price of the package in our form; None if the cost depends on more than usage."""
    from genai_prices.types import TieredPrices

    found = {name: value for name, value in vars(listed).items() if value is not None}
    if not {"input_mtok", "output_mtok"} <= found.keys() <= _COVERED:
        return None
    starts = {
        tier.start
        for value in found.values()
        if isinstance(value, TieredPrices)
        for tier in value.tiers
    }

    def rates(tokens: int) -> dict[str, float | None]:
        return {field: _at(found.get(name), tokens) for field, name in _RATES.items()}

    tiers = [{"above_input_tokens": start, **rates(start + 1)} for start in sorted(starts)]
    return Price.model_validate({**rates(0), "tiers": tiers})


def _at(price: "Decimal | TieredPrices | None", tokens: int) -> float | None:
    """Return the rate of a call with a prompt of that many tokens."""
    from genai_prices.types import TieredPrices

    if not isinstance(price, TieredPrices):
        return None if price is None else float(price)
    reached = [tier.price for tier in price.tiers if tokens > tier.start]
    return float(reached[-1] if reached else price.base)


def user_table() -> PriceTable:
    """Return the user's own table by provider; empty if there is none.

    Raises:
        Misuse: the named file is missing, or its content is invalid.
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
    """Return the file of the user's own table; None if there is none."""
    named = os.environ.get(PRICES_VARIABLE, "").strip()
    if named:
        return Path(named)
    path = Path(os.environ.get(_HOME_VARIABLE) or ".nightshift") / "prices.yaml"
    return path if path.exists() else None


@cache
def _read(path: Path, changed_ns: int, size: int) -> PriceTable:
    """Read a table; cached until the file changes."""
    if size > _MAX_BYTES:
        raise Misuse(f"prices {path}: has {size} bytes, and at most {_MAX_BYTES} are read")
    try:
        return _TABLE.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except ValidationError as exc:
        raise Misuse(f"prices {path}: {describe(exc)}") from exc
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as exc:
        cause = " ".join(str(exc).split())[:300]
        raise Misuse(f"prices {path}: is not readable YAML: {cause}") from exc
