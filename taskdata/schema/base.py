"""What every schema model shares: immutability, strict keys, canonical hashing, safe paths."""

import hashlib
import json
import re
from functools import partial
from operator import eq
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
)

# Control characters, the two separators of lines, and what turns the direction of writing.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def digest_of(plain: Any) -> str:
    """Return the hex sha256 of a value's canonical JSON, given as plain lists, mappings and so on.

    What was stored keeps its digest, whatever fields its model has got since.
    """
    return hashlib.sha256(_canonical(plain).encode()).hexdigest()


def _canonical(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Value(BaseModel):
    """An immutable value; unknown keys are an error, never dropped in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical_json(self) -> str:
        """Return JSON with sorted keys and no white space: equal values give equal text."""
        return _canonical(self.model_dump(mode="json"))

    def digest(self) -> str:
        """Return the hex sha256 of `canonical_json`."""
        return digest_of(self.model_dump(mode="json"))


class GrowingValue(Value):
    """A value whose fields have grown: one added later is written only where it is set.

    What was stored and hashed before the field existed thus keeps its hash.
    """

    added_later: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Leave out, in the serializer itself, what is not set: transcripts have many of these."""
        for name in cls.added_later:
            field = cls.model_fields[name]
            field.exclude_if = partial(eq, field.get_default(call_default_factory=True))
        cls.model_rebuild(force=True)


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise ValueError(f"{path!r} must be a relative path that stays inside its folder")
    if _UNSEEN.search(path):
        raise ValueError(f"{path!a} must hold no line break or other control character")
    return path


RelativePath = Annotated[
    str, StringConstraints(min_length=1, max_length=240), AfterValidator(_inside)
]
"""A POSIX path below some folder: never absolute, never with `..`, and always one line.

People, models and judges read such names beside others' text, which a line break would let them
imitate.
"""

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_\-]{0,79}$")]
"""A lower-case id: letters, digits, `_` and `-`."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
