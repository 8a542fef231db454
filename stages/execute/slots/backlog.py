"""Which trial is next, whoever has a slot for it.

The providers of a stage's agents share all slots: the next one goes to the provider with the fewest
trials in slots. One whose trials never end thus keeps its share and no more while another has
trials waiting, and no slot stands empty while there is any work. One that answers no trial at all
is only probed (`provider`), and what is left of its trials is given up when nothing else is.
"""

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from uuid import uuid4

from pydantic import Field

from stages.execute.slots.provider import NO_MODEL, ProviderQueue
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.base import Value

_LOCAL = "local"

MOST_LOSSES = 5
"""A trial that was lost with its holder so often is begun no more: it may be what kills them."""
LOST = "the trial was lost with its worker again and again"

_logger = logging.getLogger(__name__)


class SlotRequest(Value):
    """What somebody with slots says to the backlog."""

    holder: str
    """Of the slots; a name that no other has, nor had."""
    free: int = Field(default=0, ge=0)
    """Slots to fill."""
    done: tuple[str, ...] = ()
    """Trials that were recorded since it said something last."""
    answered: tuple[str, ...] = ()
    """Trials that their provider has answered since then, be it once more."""
    unanswered: tuple[str, ...] = ()
    """Trials that have ended since then because their provider gave not one answer."""
    leaves: bool = False
    """Whether it is gone: what it has begun and not done is for others."""


class SlotGrant(Value):
    """What the backlog answers."""

    trial_ids: tuple[str, ...] = ()
    waiting: int = Field(default=0, ge=0)
    """Trials that are left; where others take them as well, its share. If there was a free slot
    for them all the same, they are worth asking for again."""


Deal = Callable[[SlotRequest], SlotGrant]
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
        provider = provider_of(None) if agent is None else provider_of(agent.model, agent.base_url)
        places.setdefault(provider, []).append((nth[name], trial_id))
    return {
        provider: [trial_id for _, trial_id in sorted(place, key=lambda pair: pair[0])]
        for provider, place in places.items()
    }


def provider_of(model: ModelSpec | None, base_url: str | None = None) -> str:
    """Return the name under which a backlog has the trials that ask this model."""
    if model is None:
        return NO_MODEL
    return model.provider if base_url is None else f"{model.provider} at {base_url}"


@dataclass
class Backlog:
    """The trials that wait for a slot, and who has which of the others."""

    providers: dict[str, ProviderQueue]
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    """Trials that were begun here and are recorded."""
    given_up: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Trials that are begun no more, by the cause: lost too often, or their provider is silent."""
    _lost: Counter[str] = field(default_factory=Counter)
    """How often, by trial."""
    _begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Provider and holder by trial."""
    _times: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    def of(
        cls, trials: Mapping[str, Sequence[str]], clock: Callable[[], float] = time.monotonic
    ) -> "Backlog":
        """Return the backlog of these trial ids by provider; each is in it once."""
        lines = {
            name: ProviderQueue(name, deque(dict.fromkeys(ids))) for name, ids in trials.items()
        }
        return cls(lines, clock)

    @property
    def waiting(self) -> int:
        """Trials that nobody has begun."""
        return sum(len(provider.waiting) for provider in self.providers.values())

    @property
    def holders(self) -> frozenset[str]:
        """Those who have begun trials that are not done."""
        return frozenset(holder for _, holder in self._begun.values())

    def exchange(self, ask: SlotRequest) -> SlotGrant:
        """Take note of what is done and give as many trials as are asked for and left."""
        now = self.clock()
        for provider, _ in self._of_begun(ask.answered):
            provider.answer()
        for provider, trial_id in self._of_begun(ask.unanswered):
            provider.miss(trial_id, now)
        for trial_id in ask.done:
            self._end(trial_id, now)
        if ask.leaves:
            self.put_back(ask.holder)
        self._give_up_silent(now)
        trial_ids: list[str] = []
        while len(trial_ids) < ask.free and (ready := self._next(now)) is not None:
            trial_ids.append(self._begin(ready, ask.holder))
        return SlotGrant(trial_ids=tuple(trial_ids), waiting=self.waiting)

    def put_back(self, holder: str) -> None:
        """Let others have, before anything else, what a holder has begun and not done."""
        for provider, trial_id in self._taken_from(holder):
            provider.waiting.appendleft(trial_id)

    def lose(self, holder: str) -> None:
        """Let others have, after anything else, what a holder had begun that is dead."""
        for provider, trial_id in self._taken_from(holder):
            self._lost[trial_id] += 1
            if self._lost[trial_id] < MOST_LOSSES:
                provider.waiting.append(trial_id)
            else:
                self.given_up[LOST].append(trial_id)

    def _of_begun(self, trial_ids: Iterable[str]) -> Iterator[tuple[ProviderQueue, str]]:
        for trial_id in trial_ids:
            if trial_id in self._begun:
                yield self.providers[self._begun[trial_id][0]], trial_id

    def _taken_from(self, holder: str) -> list[tuple[ProviderQueue, str]]:
        begun = [trial_id for trial_id, (_, by) in self._begun.items() if by == holder]
        taken = list(self._of_begun(begun))
        for trial_id in begun:
            self._leave_slot(trial_id, self.clock())
        return taken

    def _give_up_silent(self, now: float) -> None:
        """Give up what waits for providers that do not answer, if there is nothing else to do."""
        left = [one for one in self.providers.values() if one.waiting or one.begun]
        if not all(provider.is_in_doubt for provider in left):
            return
        for provider in left:
            if provider.waiting and not provider.begun and provider.is_lost(now):
                self.given_up[provider.silence] += provider.waiting
                provider.waiting.clear()

    def _next(self, now: float) -> ProviderQueue | None:
        waiting = [provider for provider in self.providers.values() if provider.waiting]
        others_wait = not all(provider.is_in_doubt for provider in waiting)
        ready = [provider for provider in waiting if provider.may_begin(now, others_wait)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, provider: ProviderQueue) -> tuple[bool, int, int]:
        # A model on this machine's CPU and the sandboxes of agents that do nothing but use tools
        # would slow each other down.
        others = self.providers.get(NO_MODEL)
        is_last = provider.name == _LOCAL and others is not None and bool(others.waiting)
        return is_last, provider.begun, provider.served

    def _begin(self, provider: ProviderQueue, holder: str) -> str:
        trial_id = provider.begin(next(self._times))
        self._begun[trial_id] = provider.name, holder
        return trial_id

    def _end(self, trial_id: str, now: float) -> None:
        # Somebody who was given up for gone may tell of a trial that others have done as well.
        if trial_id in self._begun:
            self._leave_slot(trial_id, now)
            self.done += 1

    def _leave_slot(self, trial_id: str, now: float) -> None:
        name, _ = self._begun.pop(trial_id)
        self.providers[name].end(now)


class Holder:
    """Somebody with slots, as it speaks to the backlog."""

    def __init__(self, deal: Deal) -> None:
        self._deal = deal
        self._name = uuid4().hex
        self._heard: set[str] = set()
        """Trials that were answered and are not done."""
        self._answered: set[str] = set()
        self._unanswered: deque[str] = deque()

    def answered(self, trial_id: str) -> None:
        """Note that its provider has answered a trial, be it once more."""
        self._heard.add(trial_id)
        self._answered.add(trial_id)

    def unanswered(self, trial_id: str) -> None:
        """Note that a trial ends for want of an answer, be it that it had others before."""
        if trial_id not in self._heard:
            self._unanswered.append(trial_id)

    def next(self, free: int, done: Iterable[str] = ()) -> SlotGrant:
        """Return trials for free slots, if there are any; tell which were recorded, and noted."""
        recorded = tuple(done)
        self._heard.difference_update(recorded)
        word = SlotRequest(
            holder=self._name,
            free=free,
            done=recorded,
            answered=_all_of(self._answered),
            unanswered=_all_of(self._unanswered),
        )
        return self._deal(word)

    def leave(self) -> None:
        """Give back what was begun and not done."""
        self._deal(SlotRequest(holder=self._name, leaves=True))


def _all_of(noted: deque[str] | set[str]) -> tuple[str, ...]:
    """Empty what is noted, which another thread may be adding to."""
    return tuple(noted.pop() for _ in range(len(noted)))


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
