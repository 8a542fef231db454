"""The coverage map: what a query demands explicitly, and the leaves that score each demand."""

from enum import StrEnum

from taskdata.schema.base import Value


class RequirementKind(StrEnum):
    """How a requirement is explicit."""

    FILE = "file"
    NAME = "name"
    COUNT = "count"
    WORDS = "words"
    """In words that only a reader recognises as a demand."""


class MapOrigin(StrEnum):
    """Who found a requirement and its leaves."""

    CODE = "code"
    MODEL = "model"
    """The model that writes the trees; code only confirms that quote and leaves exist."""


class ExplicitRequirement(Value):
    """A requirement in the words of the query, and the leaves that score it."""

    kind: RequirementKind
    quote: str
    """As it stands in the query; of a file that the query does not name, the file's name."""
    leaves: tuple[str, ...]
    """Ids; empty: no leaf scores it."""
    origin: MapOrigin = MapOrigin.CODE
