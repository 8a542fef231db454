"""What a gate or a stage stopped, by which rule, and what a person decided about it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from taskdata.schema.base import Value

VALUE_CHARACTERS = 300

SEED_GATE = "gate seeds"
"""The gate before construction, as what it stopped names it."""


class Finding(Value):
    """One rule that one row breaks."""

    gate: str
    """Where it was stopped: `gate candidates`, or a construction stage such as `validate`."""
    rule: str
    """Name of the rule, as `override --rule` takes it."""
    reason: str
    """What the rule says."""
    value: str | None = Field(default=None, max_length=VALUE_CHARACTERS)
    """What was found in the row; None: the reason says it all."""
    field: str | None = None
    """Field of the draft or seed that breaks the rule, where one does."""

    @property
    def sentence(self) -> str:
        """The rule, and after it what was found."""
        return self.reason if self.value is None else f"{self.reason} (found: {self.value})"


class QuarantineDecision(Value):
    """What a person decided about a seed, candidate or refused row in quarantine."""

    item: str
    """Id of the seed or candidate, or the number of a refused row."""
    kind: Literal["override", "edit", "regate", "drop"]
    rule: str | None = None
    """Of an override: the rule that this item may break."""
    found: str = ""
    """Of an override: what the gates had said, with the value."""
    reason: str = Field(default="", max_length=10_000)
    by: str = Field(min_length=1, max_length=200)
    replaced_by: str | None = None
    """Of an edited seed: the id of the seed that it became."""
    at: datetime
