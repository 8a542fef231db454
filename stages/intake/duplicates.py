"""Finds duplicate texts: equal, in nearly the same words, or of the same meaning.

Two texts whose numbers, file formats or names contradict each other are not duplicates, however
alike they are otherwise.

Nothing is dropped here: a seed that repeats another is kept and linked to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from quality.encoders.packaged import MINILM, UNIVERSAL
from quality.encoders.paired import PairedEncoder
from quality.language import language_of
from stages.intake.details import Details, contradict, details_of, replaces_words
from stages.intake.wording import shingles, words
from taskdata.schema.seed import SeedLink

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quality.encoders.encoder import SentenceEncoder

Kind = Literal["seed", "task"]
Text = tuple[str, str]
"""Id and text of a seed or a task."""

SIMILAR_WORDS = 0.8
"""Least estimated Jaccard similarity of the words and word pairs of two near duplicates."""
SIMILAR_MEANING = {UNIVERSAL: 0.71, MINILM: 0.751}
"""Least cosine similarity of two texts of the same meaning, by encoder.

`benchmarks/near_duplicates.py` derives them: the lowest with a precision of 0.95 on the calibration
part of the labelled pairs.
"""
SIMILAR_IN_ENGLISH = 0.752
"""Least mean of the cosine similarities by both packaged encoders, for two English texts; derived
as those above."""
UNCALIBRATED = 0.9
"""That of an encoder for which no threshold was derived."""
MAX_LINKS = 10
"""Links of one seed: the most similar ones."""

_PERMUTATIONS = 128
# 16 bands of 8: a pair of similarity 0.8 shares a band 95 times in 100, one of 0.9 practically
# always (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4.2).
_BANDS = (16, 8)
_SEED = 1
_ENGLISH = "en"
_NEIGHBOURS = 8
_PAGE = 1_000
_COMPARED_TOGETHER = 32
_PLAINEST = ("exact", "minhash", "embedding")


@dataclass(frozen=True)
class _Match:
    entry: int
    method: Literal["exact", "minhash", "embedding"]
    similarity: float


class DuplicateIndex:
    """The texts added so far, for finding what a new text repeats.

    MinHash and LSH (Broder 1997; Indyk and Motwani 1998) with a fixed seed: the same texts in the
    same order give the same links.
    """

    def __init__(self, encoder: "SentenceEncoder | None" = None) -> None:
        from datasketch import MinHash, MinHashLSH

        self._blank = MinHash(num_perm=_PERMUTATIONS, seed=_SEED, hashfunc=crc32)
        self._bands = MinHashLSH(num_perm=_PERMUTATIONS, params=_BANDS)
        self._banded: list[int] = []
        self._signatures = _GrowingMatrix()
        self._encoder = encoder
        self._vectors = _GrowingMatrix()
        self._english = encoder.english if isinstance(encoder, PairedEncoder) else None
        self._english_vectors = _GrowingMatrix()
        self._is_english: list[bool] = []
        self._least = UNCALIBRATED
        if encoder is not None:
            self._least = SIMILAR_MEANING.get(encoder.name, UNCALIBRATED)
        self._entries: list[tuple[Kind, str]] = []
        self._details: list[Details] = []
        self._exact: dict[tuple[Kind, bytes], int] = {}

    def learn(self, kind: Kind, texts: Iterable[Text]) -> None:
        """Add texts that are known already."""
        remaining = iter(texts)
        while page := list(islice(remaining, _PAGE)):
            for other_id, text in page:
                self._meet(kind, other_id, text)
            self._add_vectors([text for _id, text in page])

    def links(self, seeds: Sequence[Text]) -> list[SeedLink]:
        """Add new seeds to the index and return what each repeats, including other new seeds.

        For equal texts these are the first such seed and the first such task; then come seeds with
        similar words, then seeds with a similar meaning.
        """
        first = len(self._entries)
        matches = [self._meet("seed", seed_id, text) for seed_id, text in seeds]
        if self._encoder is not None and seeds:
            self._add_vectors([text for _id, text in seeds])
            for found, alike in zip(matches, self._same_meaning(first), strict=True):
                found.extend(alike)
        return [
            link
            for (seed_id, _text), found in zip(seeds, matches, strict=True)
            for link in self._best(seed_id, found)
        ]

    def alike(self, text: str) -> str | None:
        """Return the id of the known text with the most similar words; None if none is near.

        The text is not added. Its details are not compared: what differs from a known text in one
        number or name is found too.
        """
        import numpy as np

        said = words(text)
        digest = blake2b(" ".join(said).encode(), digest_size=16).digest()
        for kind in ("seed", "task"):
            if (entry := self._exact.get((kind, digest))) is not None:
                return self._entries[entry][1]
        sketch = self._blank.copy()
        sketch.update_batch(shingles(said))
        rows = sorted(self._bands.query(sketch))
        if not rows:
            return None
        shares = np.mean(self._signatures.values[rows] == sketch.hashvalues, axis=1)
        best = int(shares.argmax())
        return self._entries[self._banded[rows[best]]][1] if shares[best] >= SIMILAR_WORDS else None

    def _meet(self, kind: Kind, own_id: str, text: str) -> list[_Match]:
        """Return the texts with similar words, and add this text."""
        entry = len(self._entries)
        self._entries.append((kind, own_id))
        self._details.append(details_of(text))
        said = words(text)
        digest = blake2b(" ".join(said).encode(), digest_size=16).digest()
        same = [self._exact.get(("seed", digest)), self._exact.get(("task", digest))]
        exact = [_Match(other, "exact", 1.0) for other in same if other is not None]
        is_first = self._exact.setdefault((kind, digest), entry) == entry
        return exact + self._near(entry, said, is_first)

    def _near(self, entry: int, said: list[str], is_first: bool) -> list[_Match]:
        import numpy as np

        sketch = self._blank.copy()
        sketch.update_batch(shingles(said))
        rows = sorted(self._bands.query(sketch))
        near, crowded = [], False
        if rows:
            shares = np.mean(self._signatures.values[rows] == sketch.hashvalues, axis=1)
            near = [
                _Match(self._banded[rows[i]], "minhash", float(shares[i]))
                for i in np.flatnonzero(shares >= SIMILAR_WORDS)
            ]
            crowded = len(near) >= _NEIGHBOURS
            own = self._details[entry]
            near = [m for m in near if is_light_edit(own, self._details[m.entry])]
        # Many texts from one template would make every look-up long; a text that repeats the newest
        # of them very likely also repeats one of the first.
        if is_first and not crowded:
            self._bands.insert(len(self._banded), sketch)
            self._banded.append(entry)
            self._signatures.extend(sketch.hashvalues[None, :])
        return near

    def _add_vectors(self, texts: Sequence[str]) -> None:
        if self._encoder is None:
            return
        self._vectors.extend(self._encoder.encode(texts))
        if self._english is not None:
            self._english_vectors.extend(self._english.encode(texts))
            self._is_english += [language_of(text) == _ENGLISH for text in texts]

    def _same_meaning(self, first: int) -> Iterator[list[_Match]]:
        """Yield the texts of the same meaning for each entry from `first` on."""
        import numpy as np

        for start in range(first, len(self._vectors.values), _COMPARED_TOGETHER):
            similar, least = self._similarities(start, start + _COMPARED_TOGETHER)
            for offset, row in enumerate(similar, start):
                earlier = np.flatnonzero(row[:offset] >= least[offset - start, :offset])
                yield [
                    _Match(int(i), "embedding", min(1.0, float(row[i])))
                    for i in earlier
                    if says_the_same(self._details[offset], self._details[i])
                ]

    def _similarities(self, start: int, end: int) -> tuple["NDArray[Any]", "NDArray[Any]"]:
        """Return the similarity of entries with all others, and the least that counts for each."""
        import numpy as np

        cosines = self._vectors.values[start:end] @ self._vectors.values.T
        if self._english is None:
            return cosines, np.full(cosines.shape, self._least)
        english = np.array(self._is_english)
        both = english[start:end, None] & english[None, :]
        others = self._english_vectors.values
        mean = (cosines + others[start:end] @ others.T) / 2
        return np.where(both, mean, cosines), np.where(both, SIMILAR_IN_ENGLISH, self._least)

    def _best(self, seed_id: str, matches: Sequence[_Match]) -> Iterator[SeedLink]:
        """Yield a seed's links: one for each other text, by the strictest method that finds it."""
        by_other: dict[tuple[Kind, str], _Match] = {}
        for match in sorted(matches, key=lambda m: (_PLAINEST.index(m.method), -m.similarity)):
            by_other.setdefault(self._entries[match.entry], match)
        for (kind, other_id), match in islice(by_other.items(), MAX_LINKS):
            yield SeedLink(
                seed_id=seed_id,
                other_kind=kind,
                other_id=other_id,
                method=match.method,
                similarity=match.similarity,
            )


def is_light_edit(one: Details, other: Details) -> bool:
    """Return whether no detail shows that two texts with similar words are different requests.

    One word in the place of another may be a synonym; two or more are another subject.
    """
    return not contradict(one, other) and not replaces_words(one, other, least=2)


def says_the_same(one: Details, other: Details) -> bool:
    """Return whether no detail shows that two texts of similar meaning are different requests."""
    return not contradict(one, other) and not replaces_words(one, other)


class _GrowingMatrix:
    """Rows of numbers in an array that doubles its capacity as it grows."""

    def __init__(self) -> None:
        self._room: NDArray[Any] | None = None
        self._used = 0

    @property
    def values(self) -> "NDArray[Any]":
        """The rows so far."""
        import numpy as np

        return np.empty((0, 0)) if self._room is None else self._room[: self._used]

    def extend(self, rows: "NDArray[Any]") -> None:
        """Add rows below the others."""
        import numpy as np

        needed = self._used + len(rows)
        if self._room is None or needed > len(self._room):
            room = np.empty((max(needed, 2 * self._used), rows.shape[1]), dtype=rows.dtype)
            if self._room is not None:
                room[: self._used] = self.values
            self._room = room
        self._room[self._used : needed] = rows
        self._used = needed
