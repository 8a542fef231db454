"""What one run's workers may use together: their shares of provider limits, and the run's money.

Each worker limits its own calls (`local`) and exchanges a word with the coordinator a few times a
second, whatever the number of its calls: what it wants and what it has learned of the provider go
up, its share comes back (`shares`). Runs that share a board keep a provider's limits together.
Money is the run's own: under a cap a worker also asks soon for each call, but all that wait share a
word.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from environments.models.limits.local import by_limited_name
from environments.models.limits.seam import Share, Want
from environments.models.limits.shares import FORGOTTEN_AFTER_SECONDS, Board, Shares
from taskdata.schema.base import Value
from taskdata.schema.ceilings import Ceilings

EXCHANGE_SECONDS = 0.25
"""Between two words of a worker that has calls, and nothing that is urgent."""


class Word(Value):
    """What a worker tells: its wants by provider, and its money where the run has a cap."""

    worker: str
    wants: dict[str, Want] = Field(default_factory=dict)
    spent_usd: float = Field(default=0.0, ge=0)
    """By its calls that ended, since it began: a word that is lost is made good by the next."""
    held_usd: float = Field(default=0.0, ge=0)
    """What its calls in flight may still cost."""
    asks_usd: tuple[float, ...] = ()
    """What its waiting calls may cost, first come first."""


class Answer(Value):
    """What a worker is told: its shares by provider, and which waiting calls there is money for."""

    shares: dict[str, Share] = Field(default_factory=dict)
    granted: int = Field(default=0, ge=0)
    """So many of the waiting calls, from the first, may be made."""
    refused: bool = False
    """The first of those that are left can never be made: less is left than it may cost."""


@dataclass
class _Worker:
    heard_at: float
    held_usd: float = 0.0


class Coordinator:
    """Decides who gets what; knows no clock, loop or network. Times are any rising seconds."""

    def __init__(
        self,
        ceilings: Mapping[str, Ceilings] | None = None,
        max_usd: float | None = None,
        spent_usd: float = 0.0,
        board: Board | None = None,
        run: str = "",
    ) -> None:
        """Deal out the configured limits of each provider, and what is left of `max_usd`.

        `spent_usd` is infinite where nobody knows what was spent: then no call gets any money.
        `board` is what several runs share; None: this one has the limits alone. `run` tells its
        workers from those of others there.
        """
        self._ceilings = by_limited_name(ceilings or {})
        self._board: Board = Shares() if board is None else board
        self._run = run
        self._max_usd = max_usd
        self._spent_before = spent_usd
        self._spent_by: dict[str, float] = {}
        self._lost_by: dict[str, float] = {}
        self._workers: dict[str, _Worker] = {}

    @property
    def spent_usd(self) -> float:
        """What the workers have reported, and what was spent before."""
        return self._spent_before + sum(self._spent_by.values()) + sum(self._lost_by.values())

    def exchange(self, word: Word, now: float) -> Answer:
        """Take in what a worker says and return what it may use."""
        self._forget_the_silent(now)
        worker = self._workers.setdefault(word.worker, _Worker(now))
        worker.heard_at = now
        shares = self._board.shares_of(self._on_board(word.worker), word.wants, self._ceilings, now)
        granted, refused = self._money(worker, word)
        return Answer(shares=shares, granted=granted, refused=refused)

    @property
    def workers(self) -> tuple[str, ...]:
        """Those that it reckons with."""
        return tuple(self._workers)

    def forget(self, name: str) -> None:
        """Give a lost worker's share to the others; the money that it held may be spent."""
        worker = self._workers.pop(name, None)
        if worker is not None:
            self._lost_by[name] = worker.held_usd
            self._board.forget([self._on_board(name)])

    def end(self) -> None:
        """Give all shares to other runs."""
        self._board.forget([self._on_board(name) for name in self._workers])

    def _on_board(self, name: str) -> str:
        return f"{self._run}/{name}"

    def _forget_the_silent(self, now: float) -> None:
        """What they held counts as spent until they return."""
        for name, worker in list(self._workers.items()):
            if now - worker.heard_at > FORGOTTEN_AFTER_SECONDS:
                self.forget(name)

    def _money(self, worker: _Worker, word: Word) -> tuple[int, bool]:
        self._spent_by[word.worker] = word.spent_usd
        self._lost_by.pop(word.worker, None)
        worker.held_usd = word.held_usd
        if self._max_usd is None:
            return len(word.asks_usd), False
        left = self._max_usd - self.spent_usd
        free = left - sum(other.held_usd for other in self._workers.values())
        granted = 0
        for asked in word.asks_usd:
            if asked > free:
                return granted, asked > left
            granted += 1
            free -= asked
            worker.held_usd += asked
        return granted, False
