"""Raw user requests from which tasks are made."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from taskdata.schema.base import GrowingValue, Value
from taskdata.schema.package import Difficulty
from taskdata.schema.task import InputFile

EXCERPT_CHARACTERS = 300

Ended = Literal["overridden", "mended", "dropped"]
"""`overridden`: the rule may be broken; `mended`: it was changed, or is gated again."""


LanguageCode = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
"""ISO 639-1 code of a language; `und`: it cannot be told."""

_Name = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class Discovery(Value):
    """The scenario in which a model proposed a request, and the model (TOBench, section 3)."""

    domain: str = Field(min_length=1, max_length=400)
    scenario: str = Field(min_length=1, max_length=200)
    need: str = Field(min_length=1, max_length=1_000)
    """What the person of the scenario needs."""
    role: str = Field(min_length=1, max_length=200)
    """The profession of the one who is asked to meet the need."""
    difficulty: Difficulty
    tools: tuple[_Name, ...] = Field(max_length=20)
    """Tools and servers that the work plausibly needs."""
    verified_by: str = Field(min_length=1, max_length=1_000)
    """What can be looked up in the result to decide whether it is right."""
    model: _Name
    """The model that was asked."""
    model_id: _Name | None = None
    """The model as its provider reports it."""
    prompts: tuple[_Name, ...] = Field(max_length=10)
    """Versions of the prompts: of the proposal, and of its review."""


class SeedQuery(GrowingValue):
    """A raw user request with provenance."""

    added_later: ClassVar[frozenset[str]] = frozenset({"discovery"})

    text: str = Field(min_length=1, max_length=100_000)
    source: str = Field(min_length=1, max_length=80)
    """Where it was found: manus, kortix, reddit, stackexchange, internal, ..."""
    url: str | None = Field(default=None, max_length=2_000)
    collected_on: date | None = None
    license: str | None = Field(default=None, max_length=200)
    attachments: tuple[InputFile, ...] = ()
    discovery: Discovery | None = None
    """How a model proposed the query; None: the query comes from a person."""

    @property
    def seed_id(self) -> str:
        """First 16 hex digits of the content hash."""
        return self.digest()[:16]


class SeedLink(Value):
    """A seed says the same as another seed or a task; both are kept."""

    seed_id: str
    other_kind: Literal["seed", "task"]
    other_id: str
    """Seed id or task id."""
    method: Literal["exact", "minhash", "embedding"]
    similarity: float = Field(ge=0, le=1)
    """1: the same words, whatever their case and punctuation; else the method's own estimate."""


class StoredSeed(Value):
    """A seed with what the store knows about it."""

    id: str
    query: SeedQuery
    origin: str
    """File it came from."""
    row: int | None = Field(default=None, ge=1)
    """Row in that file, counted from 1."""
    added_at: datetime
    language: LanguageCode | None = None
    """Of its text; None: the seed was stored before languages were recorded."""
    duplicate_of: tuple[SeedLink, ...] = ()


class QuarantinedRow(Value):
    """A row, seed, task or candidate that was not let through, and why."""

    stage: str
    """Where it was stopped: `seeds`, `import`, a construction stage or a gate."""
    origin: str
    """File it came from, or the refresh it belongs to."""
    row: int | None = Field(default=None, ge=1)
    """Row in that file, counted from 1."""
    item: str | None = None
    """Id of the seed, task or candidate, where it has one."""
    field: str | None = None
    rule: str | None = None
    """Name of the rule that it breaks, where the gate has rules."""
    value: str | None = None
    """What was found where the rule looks."""
    reason: str
    excerpt: str = Field(default="", max_length=EXCERPT_CHARACTERS)
    """Beginning of what it said."""
    at: datetime


class QuarantineEntry(QuarantinedRow):
    """A row in quarantine with what the store knows about it."""

    number: int
    """By which a refused row without an id is named."""
    ended: Ended | None = None
    """What ended the quarantine; None: it lasts."""
