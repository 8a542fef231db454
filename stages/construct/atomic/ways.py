"""How an atomic exemplar is varied, and how many variations of each kind are made.

GTA's diversified expansion (GTA, appendix C.2): per exemplar, six variations keep the tools and
change the scenario, two replace one tool, and two add or drop tools.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from taskdata.schema.task import Capability, Task, Tier

_SEPARATOR = "; "
_ANSWERING = (Capability.PERCEPTION, Capability.LOGIC)


class Way(StrEnum):
    """How a variation changes the set of tools in the exemplar's solution."""

    KEEP = "keep the tools, change the scenario"
    REPLACE = "replace one tool"
    ADD_ONE = "add one tool"
    ADD_TWO = "add two tools"
    DROP_ONE = "drop one tool"
    DROP_TWO = "drop two tools"

    @property
    def dropped(self) -> int:
        """Number of the exemplar's tools that the variation does not use."""
        return {Way.REPLACE: 1, Way.DROP_ONE: 1, Way.DROP_TWO: 2}.get(self, 0)

    @property
    def added(self) -> int:
        """Number of the variation's tools that the exemplar does not use."""
        return {Way.REPLACE: 1, Way.ADD_ONE: 1, Way.ADD_TWO: 2}.get(self, 0)


ANGLES = (
    "ask for a total or difference over another part of the data",
    "ask which entry stands out, and by how much",
    "ask whether a limit is kept, and what is left",
    "ask for a share, a rate or a price per unit",
    "ask for an order of entries by two criteria",
    "ask what changes under another assumption",
    "ask where somebody's statement about the data is wrong",
    "ask for something that two places in the files decide together",
    "ask for what is missing, and what it would take",
    "ask for the earliest, latest or next time something holds",
)
"""Subjects for successive variations of an exemplar, so that they differ from each other."""


class Variation(NamedTuple):
    """One variation to be made."""

    exemplar: Task
    way: Way
    number: int
    """Number of the variation for this exemplar, from 1."""

    @property
    def aim(self) -> str:
        """Way and subject in words; `way_of` parses the way."""
        return f"{self.way}{_SEPARATOR}{ANGLES[(self.number - 1) % len(ANGLES)]}"


def way_of(aim: str) -> Way:
    """Return the way that a variation's aim begins with."""
    return Way(aim.partition(_SEPARATOR)[0])


def involved_tools(task: Task) -> tuple[str, ...]:
    """Return the tools of the task's reference chain, without those that every task has."""
    steps = task.reference.steps if task.reference else ()
    return tuple(dict.fromkeys(s.tool for s in steps if s.tool not in ALWAYS_PRESENT))


def choosable_tools() -> tuple[str, ...]:
    """Return the tools that a task can choose: the catalogue without the ever-present ones."""
    return tuple(name for name in catalogue() if name not in ALWAYS_PRESENT)


def answering_tools() -> tuple[str, ...]:
    """Return the tools that can contribute to an answer in words: those that read or reason."""
    known = catalogue()
    return tuple(n for n in choosable_tools() if known[n].spec.category in _ANSWERING)


def is_exemplar(task: Task) -> bool:
    """Return whether the task can be varied: atomic, with a chain, and an answer in words.

    The content of a picture cannot be derived from a varied chain, so such tasks are left out.
    """
    has_answer = task.answer is not None and task.answer.kind != "image_generation"
    return task.tier is Tier.ATOMIC and has_answer and bool(involved_tools(task))


def ways_of(tools: int) -> tuple[Way, ...]:
    """Return the ten ways for an exemplar with that many tools, mixed evenly.

    How many tools to add or drop follows the rules for two, three and four tools; one tool is
    treated as two, more than four as four.
    """
    if tools <= 2:
        first, second = Way.ADD_ONE, Way.ADD_TWO
    elif tools == 3:
        first, second = Way.DROP_ONE, Way.ADD_ONE
    else:
        first, second = Way.DROP_ONE, Way.DROP_TWO
    keep, replace = Way.KEEP, Way.REPLACE
    return (keep, replace, keep, first, keep, keep, replace, keep, second, keep)


def deal(exemplars: Sequence[Task], total: int) -> list[Variation]:
    """Return `total` variations in turn; ten per exemplar are exactly 6, 2 and 2.

    Each exemplar starts with another way, so that even a few variations are of all kinds.
    """
    dealt = []
    for index in range(total if exemplars else 0):
        turn, place = divmod(index, len(exemplars))
        exemplar = exemplars[place]
        ways = ways_of(len(involved_tools(exemplar)))
        dealt.append(Variation(exemplar, ways[(turn + place) % len(ways)], turn + 1))
    return dealt


def disobeyed(way: Way, exemplar: Collection[str], tools: Collection[str]) -> str | None:
    """Return how the `tools` of a variation violate the way of varying; None: they follow it."""
    missing = sorted(set(exemplar) - set(tools))
    new = sorted(set(tools) - set(exemplar))
    if (len(missing), len(new)) == (way.dropped, way.added):
        return None
    return (
        f"to {way.value!r}, the solution must do without {way.dropped} of {sorted(exemplar)} and "
        f"take {way.added} other tools; it does without {missing or 'none'} and takes "
        f"{new or 'no other'}"
    )
