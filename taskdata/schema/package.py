"""The context of a task's request: role, domain rules, simulated user, family and difficulty.

Roles, domain rules, families and difficulty are those of TOBench (sections 3.1 and 3.2, table 2).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from taskdata.schema.base import Slug, Value


class Family(StrEnum):
    """The two macro families (TOBench, section 3.2)."""

    CUSTOMER_SERVICE = "customer_service"
    INTELLIGENT_CREATION = "intelligent_creation"


SUBCATEGORIES: Mapping[Family, tuple[str, ...]] = {
    Family.CUSTOMER_SERVICE: (
        "education",
        "e_commerce",
        "finance",
        "food_delivery",
        "government_services",
        "hotel",
        "insurance",
        "logistics",
        "medicine",
        "real_estate",
        "technical_support",
        "travel",
    ),
    Family.INTELLIGENT_CREATION: (
        "advertising",
        "audio",
        "design",
        "game_assets",
        "office_editing",
        "photography",
        "social_content",
        "video",
    ),
}
"""The 20 subcategories by family. Fifteen are named in TOBench's text and task names; the full list
is only in a figure, so `finance`, `logistics`, `audio`, `photography` and `video` are our names."""


class Difficulty(StrEnum):
    """How hard a task was made, by its requirements and the length of the work."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


TurnMode = Literal["single", "multi"]
"""Whether the query is everything that the user says, or a simulated user answers the agent."""

DomainRule = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)
]


class SimulatedUser(Value):
    """The instructions for the model that plays the user; the agent sees none of them."""

    persona: str = Field(default="", max_length=2_000)
    """Who the user is, and how they talk."""
    instructions: str = Field(min_length=1, max_length=20_000)
    """What the user wants and knows, what they say only when asked, and when they are content."""
    max_exchanges: int = Field(default=4, ge=1, le=50)
    """The most answers of the user; the talk is over after them, even if the user has not ended it.
    """


class TaskPackage(Value):
    """The fields of a task that only some tasks have."""

    family: Family | None = None
    subcategory: Slug | None = None
    """One of `SUBCATEGORIES` of the family; the gate `tasks` checks it."""
    difficulty: Difficulty | None = None
    role: str = Field(default="", max_length=2_000)
    """The profession in which the agent works; part of its system prompt."""
    domain_rules: tuple[DomainRule, ...] = Field(default=(), max_length=40)
    """Rules of that profession, part of the system prompt; the user does not know them."""
    turn_mode: TurnMode = "single"
    user: SimulatedUser | None = None
    """Who answers the agent, with `turn_mode: multi`."""

    @model_validator(mode="after")
    def _user_of_a_talk(self) -> Self:
        if (self.user is not None) != (self.turn_mode == "multi"):
            raise ValueError(
                f"turn_mode {self.turn_mode!r}: `multi` needs a `user` with instructions, and "
                "`single` takes none"
            )
        return self

    @property
    def misplaced(self) -> str | None:
        """Family and subcategory if they do not belong together; None if they do."""
        if self.subcategory is None:
            return None
        if self.family is not None and self.subcategory in SUBCATEGORIES[self.family]:
            return None
        return f"{self.family or 'no family'}/{self.subcategory}"
