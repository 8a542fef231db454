"""Injection and harm by meaning: sentences close to one of a few examples, in many languages.

Rules about wording find what their authors thought of. Here a sentence is compared, by cosine
similarity of its vector, with the examples of `prototypes/`. A sentence is found if it is close to
an example of an attack, and closer to that than to every honest example. A finding is grounds for a
person to look, not proof.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml

from quality.encoders.choosing import find_multilingual
from quality.encoders.encoder import SentenceEncoder
from taskdata.schema.safety import Harm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Kind = Literal["injection", "harm"]
KINDS: tuple[Kind, ...] = ("injection", "harm")


class Limits(NamedTuple):
    """How near to an example of an attack a sentence must be to be found."""

    similarity: float
    """Least cosine similarity with an example of an attack."""
    lead: float
    """How much closer such an example is, at least, than the closest honest one."""


LIMITS: Mapping[Kind, Limits] = {"injection": Limits(0.43, 0.04), "harm": Limits(0.43, 0.08)}
"""Chosen from what `benchmarks/safety_rules.py --calibrate` prints: many attacks of the calibration
texts are found, and next to no honest text."""

_HONEST = "honest"
_FOLDER = Path(__file__).parent / "prototypes"
_BETWEEN = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\0")
_SHORTEST = 6
_MOST_SENTENCES = 400
"""The most sentences of one text that are compared; longer texts are mostly data."""


@dataclass(frozen=True)
class Resemblance:
    """A text that means what an attack means."""

    kind: Kind
    name: str
    """The sign of injection, or the category of harm."""
    similarity: float

    def __str__(self) -> str:
        return f"{self.name} (by meaning, {self.similarity:.2f})"


@dataclass(frozen=True)
class _Examples:
    names: tuple[str, ...]
    """What each row of `attacks` is an example of."""
    attacks: "Vectors"


class Meanings:
    """Compares texts with the examples, by an encoder for many languages."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    @property
    def encoder(self) -> str:
        """The name of the encoder."""
        return self._encoder.name

    def found(
        self,
        texts: Sequence[str],
        limits: Mapping[Kind, Limits] = LIMITS,
    ) -> list[tuple[Resemblance, ...]]:
        """Return what each text resembles, once per kind and name, the closest first.

        All texts are encoded together: that is many times faster than one after the other.
        """
        import numpy as np

        sentences = [sentences_of(text) for text in texts]
        every = list(dict.fromkeys(sentence for some in sentences for sentence in some))
        if not every:
            return [() for _ in texts]
        vectors = dict(zip(every, self._encoder.encode(every), strict=True))
        return [
            _closest(self._resembled(np.stack([vectors[s] for s in some]), limits)) if some else ()
            for some in sentences
        ]

    def _resembled(self, rows: "Vectors", limits: Mapping[Kind, Limits]) -> Iterable[Resemblance]:
        honest = (rows @ self._honest.T).max(axis=1)
        for kind in KINDS:
            examples = self._examples[kind]
            cosines = rows @ examples.attacks.T
            best = cosines.argmax(axis=1)
            for row, place in enumerate(best):
                similarity = float(cosines[row, place])
                lead = similarity - float(honest[row])
                if similarity >= limits[kind].similarity and lead >= limits[kind].lead:
                    yield Resemblance(kind, examples.names[place], similarity)

    @cached_property
    def _examples(self) -> dict[Kind, _Examples]:
        return {kind: self._encoded(kind) for kind in KINDS}

    def _encoded(self, kind: Kind) -> _Examples:
        pairs = [
            (name, text)
            for name, texts in _prototypes(kind).items()
            for text in texts
            if name != _HONEST
        ]
        vectors = self._encoder.encode([text for _name, text in pairs])
        return _Examples(tuple(name for name, _text in pairs), vectors)

    @cached_property
    def _honest(self) -> "Vectors":
        return self._encoder.encode([t for kind in KINDS for t in _prototypes(kind)[_HONEST]])


def find_meanings(home: Path) -> Meanings | None:
    """Return what compares texts with the examples; None if no multilingual encoder is there."""
    encoder = find_multilingual(home)
    return None if encoder is None else Meanings(encoder)


def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, at most 400."""
    parts = (" ".join(part.split()) for part in _BETWEEN.split(text))
    return tuple(part for part in parts if len(part) >= _SHORTEST)[:_MOST_SENTENCES]


def with_meanings(
    row: Mapping[str, Any], found: Iterable[Resemblance], allowed: Collection[Harm] = ()
) -> dict[str, Any]:
    """Return the row of a gate; what its texts resemble is added to its injections and harms."""
    told = [one for one in found if one.kind == "injection" or Harm(one.name) not in allowed]
    signs = [str(one) for one in told if one.kind == "injection"]
    known = {part["harm_category"] for part in row["harm"]}
    harms = [one.name for one in told if one.kind == "harm" and one.name not in known]
    return dict(row) | {
        "injection_marks": row["injection_marks"] + len(signs),
        "injection_signs": [*row["injection_signs"], *signs],
        "harm": [*row["harm"], *({"harm_category": name} for name in dict.fromkeys(harms))],
    }


def _closest(found: Iterable[Resemblance]) -> tuple[Resemblance, ...]:
    by_name: dict[tuple[str, str], Resemblance] = {}
    for one in sorted(found, key=lambda one: -one.similarity):
        by_name.setdefault((one.kind, one.name), one)
    return tuple(by_name.values())


@cache
def _prototypes(kind: Kind) -> dict[str, list[str]]:
    read: dict[str, list[str]] = yaml.safe_load(
        (_FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")
    )
    return read
