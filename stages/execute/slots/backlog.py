"""Which trial is next, whoever has a slot for it.

The providers of a stage's agents share all slots: the next one goes to the provider with the fewest
trials in slots. One whose trials never end thus keeps its share and no more while another has
trials waiting, and no slot stands empty while there is any work.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from uuid import uuid4

from pydantic import Field

from taskdata.schema.agent import AgentSpec
from taskdata.schema.base import Value

NO_MODEL = "no model"
"""The provider of agents that ask no model."""
_LOCAL = "local"

MOST_LOSSES = 5
"""A trial that was lost with its holder so often is begun no more: it may be what kills them."""

_logger = logging.getLogger(__name__)


class Ask(Value):
    """What somebody with slots says to the backlog."""

    holder: str
    """Of the slots; a name that no other has, nor had."""
    free: int = Field(default=0, ge=0)
    """Slots to fill."""
    done: tuple[str, ...] = ()
    """Trials that were recorded since it said something last."""
    leaves: bool = False
    """Whether it is gone: what it has begun and not done is for others."""


class Dealt(Value):
    """What the backlog answers."""

    trial_ids: tuple[str, ...] = ()
    waiting: int = Field(default=0, ge=0)
    """Trials that are left; where others take them as well, its share."""


Deal = Callable[[Ask], Dealt]
"""Carries a word to the backlog and its answer back; blocks, and raises when it cannot."""


def by_provider(
    trials: Iterable[tuple[str, AgentSpec | None]],
) -> dict[str, list[str]]:
    """Return trial ids by the provider that their agents ask, the agents of each in turn.

    Neighbours (one agent's trials) are thus apart, so that cheap and dear agents mix.
    """
    nth: dict[str, int] = {}
    places: dict[str, list[tuple[int, str]]] = {}
    for trial_id, agent in trials:
        name = "" if agent is None else agent.name
        nth[name] = nth.get(name, 0) + 1
        places.setdefault(_provider_of(agent), []).append((nth[name], trial_id))
    return {
        provider: [trial_id for _, trial_id in sorted(place, key=lambda pair: pair[0])]
        for provider, place in places.items()
    }


def _provider_of(agent: AgentSpec | None) -> str:
    if agent is None or agent.model is None:
        return NO_MODEL
    provider = agent.model.provider
    return provider if agent.base_url is None else f"{provider} at {agent.base_url}"


@dataclass
class _Provider:
    waiting: deque[str]
    begun: int = 0
    """Its trials in slots now."""
    served: int = 0
    """When it was last given a slot."""


@dataclass
class Backlog:
    """The trials that wait for a slot, and who has which of the others."""

    providers: dict[str, _Provider]
    done: int = 0
    """Trials that were begun here and are recorded."""
    given_up: list[str] = field(default_factory=list)
    """Trials that were lost too often."""
    _lost: Counter[str] = field(default_factory=Counter)
    """How often, by trial."""
    _begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Provider and holder by trial."""
    _clock: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    def of(cls, trials: Mapping[str, Sequence[str]]) -> "Backlog":
        """Return the backlog of these trial ids by provider; each is in it once."""
        return cls({name: _Provider(deque(dict.fromkeys(ids))) for name, ids in trials.items()})

    @property
    def waiting(self) -> int:
        """Trials that nobody has begun."""
        return sum(len(provider.waiting) for provider in self.providers.values())

    @property
    def holders(self) -> frozenset[str]:
        """Those who have begun trials that are not done."""
        return frozenset(holder for _, holder in self._begun.values())

    def exchange(self, ask: Ask) -> Dealt:
        """Take note of what is done and give as many trials as are asked for and left."""
        for trial_id in ask.done:
            self._end(trial_id)
        if ask.leaves:
            self.put_back(ask.holder)
        trial_ids: list[str] = []
        while len(trial_ids) < ask.free and (name := self._next()) is not None:
            trial_ids.append(self._begin(name, ask.holder))
        return Dealt(trial_ids=tuple(trial_ids), waiting=self.waiting)

    def put_back(self, holder: str) -> None:
        """Let others have, before anything else, what a holder has begun and not done."""
        for trial_id, provider in self._taken_from(holder):
            provider.waiting.appendleft(trial_id)

    def lose(self, holder: str) -> None:
        """Let others have, after anything else, what a holder had begun that is dead."""
        for trial_id, provider in self._taken_from(holder):
            self._lost[trial_id] += 1
            if self._lost[trial_id] < MOST_LOSSES:
                provider.waiting.append(trial_id)
            else:
                self.given_up.append(trial_id)

    def _taken_from(self, holder: str) -> list[tuple[str, _Provider]]:
        taken = []
        for trial_id, (name, begun_by) in list(self._begun.items()):
            if begun_by == holder:
                del self._begun[trial_id]
                self.providers[name].begun -= 1
                taken.append((trial_id, self.providers[name]))
        return taken

    def _next(self) -> str | None:
        waiting = [name for name, provider in self.providers.items() if provider.waiting]
        return min(waiting, key=self._rank, default=None)

    def _rank(self, name: str) -> tuple[bool, int, int]:
        # A model on this machine's CPU and the sandboxes of agents that do nothing but use tools
        # would slow each other down.
        others = self.providers.get(NO_MODEL)
        is_last = name == _LOCAL and others is not None and bool(others.waiting)
        provider = self.providers[name]
        return is_last, provider.begun, provider.served

    def _begin(self, name: str, holder: str) -> str:
        provider = self.providers[name]
        trial_id = provider.waiting.popleft()
        provider.begun += 1
        provider.served = next(self._clock)
        self._begun[trial_id] = name, holder
        return trial_id

    def _end(self, trial_id: str) -> None:
        # Somebody who was given up for gone may tell of a trial that others have done as well.
        if trial_id in self._begun:
            name, _ = self._begun.pop(trial_id)
            self.providers[name].begun -= 1
            self.done += 1


class Holder:
    """Somebody with slots, as it speaks to the backlog."""

    def __init__(self, deal: Deal) -> None:
        self._deal = deal
        self._name = uuid4().hex

    def next(self, free: int, done: Iterable[str] = ()) -> Dealt:
        """Return trials for free slots, if there are any; tell which were recorded."""
        return self._deal(Ask(holder=self._name, free=free, done=tuple(done)))

    def leave(self) -> None:
        """Give back what was begun and not done."""
        self._deal(Ask(holder=self._name, leaves=True))


@contextmanager
def holding(deal: Deal) -> Iterator[Holder]:
    """Yield a new holder; afterwards others have what it has begun and not done."""
    holder = Holder(deal)
    try:
        yield holder
    finally:
        try:
            holder.leave()
        # Whatever carries the word: a backlog that is out of reach has no use for it.
        except Exception as exc:  # noqa: BLE001
            _logger.warning("the backlog was not told that its trials are left: %s", exc)
