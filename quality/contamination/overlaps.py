"""Long word n-grams (shingles) that a text shares with the queries and requirements of tasks.

Overlaps of 13 words are the measure of contamination in Brown et al., Language Models are Few-Shot
Learners (2020), appendix C.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from quality.contamination.words import words_of
from taskdata.schema.task import Task

WORDS = 13
"""Length of a shingle."""


@dataclass(frozen=True)
class BankText:
    """The query of a task, or the text of a requirement."""

    task_id: str
    checkpoint: str | None
    """None: the query."""
    shingles: int
    """Distinct ones."""


class BankIndex:
    """Which shingles belong to which texts of a bank."""

    def __init__(self, tasks: Iterable[Task], words: int = WORDS) -> None:
        self.words = words
        self.texts: list[BankText] = []
        self.too_short = 0
        """Texts of fewer words than a shingle, which no overlap can show."""
        self.vocabulary: set[str] = set()
        self.owners: dict[int, tuple[int, ...]] = {}
        for task in tasks:
            self._add(task.id, None, task.query)
            for node in task.checkpoints.nodes():
                self._add(task.id, node.id, node.requirement)

    def _add(self, task_id: str, checkpoint: str | None, text: str) -> None:
        words = words_of(text)
        spans = range(len(words) - self.words + 1)
        # A shingle is kept as a hash of 64 bits, which two different shingles hardly ever share.
        found = {hash(tuple(words[start : start + self.words])) for start in spans}
        if not found:
            self.too_short += 1
            return
        self.vocabulary.update(words)
        number = len(self.texts)
        self.texts.append(BankText(task_id, checkpoint, len(found)))
        for shingle in found:
            self.owners[shingle] = (*self.owners.get(shingle, ()), number)


@dataclass
class Overlap:
    """What one file shares with one text of the bank."""

    line: int
    """Line of the first shared word, counted from 1."""
    shingles: set[int] = field(default_factory=set)


class OverlapFinder:
    """Looks for shingles of a bank in one file, which it is fed piece by piece."""

    def __init__(self, index: BankIndex) -> None:
        self._index = index
        self._window: deque[str] = deque(maxlen=index.words)
        self._lines: deque[int] = deque(maxlen=index.words)
        self.found: dict[int, Overlap] = {}
        """By number of the bank's text."""

    def feed(self, line: int, text: str) -> None:
        """Look at the next words of the file, which stand in that line."""
        vocabulary, window, lines = self._index.vocabulary, self._window, self._lines
        owners, full = self._index.owners, self._index.words
        for word in words_of(text):
            if word not in vocabulary:
                window.clear()
                lines.clear()
                continue
            window.append(word)
            lines.append(line)
            if len(window) == full:
                shingle = hash(tuple(window))
                for owner in owners.get(shingle, ()):
                    overlap = self.found.setdefault(owner, Overlap(lines[0]))
                    overlap.shingles.add(shingle)


@dataclass(frozen=True)
class TaskOverlap:
    """What one file shares with one task."""

    task_id: str
    line: int
    query_share: float
    """Share (0-1) of the query's shingles that the file holds."""
    requirements: int
    """Requirements of which the file holds a shingle."""


def by_task(texts: Sequence[BankText], found: dict[int, Overlap]) -> list[TaskOverlap]:
    """Return the overlaps of a file by task, the largest share of a query first."""
    own: dict[str, list[tuple[BankText, Overlap]]] = defaultdict(list)
    for number, overlap in found.items():
        own[texts[number].task_id].append((texts[number], overlap))
    overlaps = [
        TaskOverlap(
            task_id=task_id,
            line=min(overlap.line for _, overlap in pairs),
            query_share=sum(
                len(overlap.shingles) / text.shingles
                for text, overlap in pairs
                if text.checkpoint is None
            ),
            requirements=sum(text.checkpoint is not None for text, _ in pairs),
        )
        for task_id, pairs in own.items()
    ]
    return sorted(overlaps, key=lambda o: (-o.query_share, -o.requirements, o.task_id))
