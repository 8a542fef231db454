"""The backlog of a stage: which trial is started next when a worker has a free slot.

The model providers of a stage's agents share all slots. The next slot goes to the provider with the
fewest running trials. So a provider whose trials never end cannot take the slots that others need,
and no slot stays empty while any trial is waiting.

Each provider has a circuit breaker. After `TRIALS_IN_A_ROW` trials without a single reply it opens:
the provider's trials are started one at a time, as probes, until one is answered. A probe takes a
slot from other providers, so probes are rarer while other providers' trials wait. The trials of a
silent provider are given up once no other trials are left.
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

from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.base import Value

NO_MODEL = "no model"
"""Provider name of agents without a model, whose circuit breaker never opens."""
TRIALS_IN_A_ROW = 5
"""Consecutive trials without a reply that open the circuit breaker."""
SECONDS_BETWEEN_PROBES = 60.0
"""Time since the last trial ended, while no other provider's trials are waiting."""
SECONDS_BETWEEN_PROBES_BESIDE_OTHERS = 1800.0
"""Time since the last trial ended, while trials of other providers wait for a slot."""
SILENT_SECONDS = 1800.0
"""An outage must last this long before the provider's trials are given up."""
_MOST_PROBES = 2


@dataclass
class ProviderQueue:
    """The trials of one provider; all times come from one monotonic clock, in seconds."""

    name: str
    waiting: deque[str]
    begun: int = 0
    """Number of running trials."""
    served: int = 0
    """Sequence number of the last slot that the provider was given."""
    unanswered: int = 0
    """Consecutive trials that ended without a reply."""
    _silent_since: float = 0.0
    """When the first of these trials ended."""
    _ended_at: float = 0.0
    """When the provider's last trial ended."""
    _probe: str | None = None
    _failed_probes: int = 0

    @property
    def is_in_doubt(self) -> bool:
        """Whether the circuit breaker is open, so that only probes are started."""
        return self.unanswered >= TRIALS_IN_A_ROW

    @property
    def silence(self) -> str:
        """Why the provider's trials are given up, on one line."""
        return (
            f"provider {self.name} did not answer {self.unanswered} trials in a row; this trial "
            "was not begun and is still due"
        )

    def answer(self) -> None:
        """Record a reply, which closes the circuit breaker."""
        self.unanswered, self._failed_probes, self._probe = 0, 0, None

    def miss(self, trial_id: str, now: float) -> None:
        """Record that a trial has ended without a reply."""
        if self.name == NO_MODEL:
            return
        if not self.unanswered:
            self._silent_since = now
        self.unanswered += 1
        self._failed_probes += trial_id == self._probe

    def begin(self, at: int) -> str:
        """Return the next trial, which takes the slot with sequence number `at`."""
        trial_id = self.waiting.popleft()
        self.begun += 1
        self.served = at
        self._probe = trial_id if self.is_in_doubt else None
        return trial_id

    def take_back(self, trial_id: str) -> None:
        """Have a trial wait again, as the first, that was not begun after all."""
        self.begun -= 1
        self.waiting.appendleft(trial_id)

    def end(self, now: float) -> None:
        """Record that a trial has left its slot."""
        self.begun -= 1
        self._ended_at = now

    def may_begin(self, now: float, others_wait: bool) -> bool:
        """Return whether the next trial may start now."""
        if not self.is_in_doubt:
            return True
        pause = SECONDS_BETWEEN_PROBES_BESIDE_OTHERS if others_wait else SECONDS_BETWEEN_PROBES
        return not self.begun and now >= self._ended_at + pause

    def is_lost(self, now: float) -> bool:
        """Return whether enough probes failed, over a long enough time, to give the trials up."""
        silent = now - self._silent_since >= SILENT_SECONDS
        return self.is_in_doubt and silent and self._failed_probes >= _MOST_PROBES


_LOCAL = "local"

MOST_LOSSES = 5
"""A trial whose worker died this often is not started again: it may be the cause."""
LOST = "the trial was lost with its worker again and again"

_logger = logging.getLogger(__name__)


class SlotRequest(Value):
    """A worker's report to the backlog, with the number of slots that it wants to fill."""

    holder: str
    """Name of the worker's shift; unique over all shifts."""
    free: int = Field(default=0, ge=0)
    """Slots to fill."""
    done: tuple[str, ...] = ()
    """Trials that were stored since the last request."""
    answered: tuple[str, ...] = ()
    """Trials with at least one model reply since the last request."""
    unanswered: tuple[str, ...] = ()
    """Trials that ended since the last request without a single model reply."""
    returned: tuple[str, ...] = ()
    """Trials that were granted and not begun; others may have them."""
    leaves: bool = False
    """Whether the shift ends: its unfinished trials go to other workers."""


class SlotGrant(Value):
    """The trials that a worker must start."""

    trial_ids: tuple[str, ...] = ()
    waiting: int = Field(default=0, ge=0)
    """How many trials are still waiting; with several workers, this worker's share of them. A
    worker that has free slots while trials wait asks again later."""


TakeTrials = Callable[[SlotRequest], SlotGrant]
"""Sends a request to the backlog and returns the grant; blocks, and raises if that fails."""


def by_provider(
    trials: Iterable[tuple[str, AgentSpec | None]],
) -> dict[str, list[str]]:
    """Return trial ids by the provider of their agents' models.

    Within a provider the agents alternate, so that cheap and expensive agents mix.
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
    """Return the provider name under which a backlog lists the trials of this model."""
    if model is None:
        return NO_MODEL
    return model.provider if base_url is None else f"{model.provider} at {base_url}"


@dataclass
class Backlog:
    """The trials that wait for a slot, and the shifts that run the others."""

    providers: dict[str, ProviderQueue]
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    """Trials that were started here and are stored."""
    given_up: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Trials that will not be started again, by cause: lost too often, or a silent provider."""
    _lost: Counter[str] = field(default_factory=Counter)
    """How often each trial was lost."""
    _begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Provider and holder of each running trial."""
    _times: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    def of(
        cls, trials: Mapping[str, Sequence[str]], clock: Callable[[], float] = time.monotonic
    ) -> "Backlog":
        """Return a backlog of trial ids given by provider; duplicates are dropped."""
        lines = {
            name: ProviderQueue(name, deque(dict.fromkeys(ids))) for name, ids in trials.items()
        }
        return cls(lines, clock)

    @property
    def waiting(self) -> int:
        """How many trials have not been started."""
        return sum(len(provider.waiting) for provider in self.providers.values())

    @property
    def holders(self) -> frozenset[str]:
        """The shifts with trials that are started and not stored yet."""
        return frozenset(holder for _, holder in self._begun.values())

    def exchange(self, request: SlotRequest) -> SlotGrant:
        """Process a worker's report, and grant up to as many trials as it has free slots."""
        now = self.clock()
        for provider, _ in self._of_begun(request.answered):
            provider.answer()
        for provider, trial_id in self._of_begun(request.unanswered):
            provider.miss(trial_id, now)
        for trial_id in request.done:
            self._end(trial_id, now)
        self._take_back(request)
        if request.leaves:
            self.put_back(request.holder)
        self._give_up_silent(now)
        trial_ids: list[str] = []
        while len(trial_ids) < request.free and (ready := self._next(now)) is not None:
            trial_ids.append(self._begin(ready, request.holder))
        return SlotGrant(trial_ids=tuple(trial_ids), waiting=self.waiting)

    def _take_back(self, request: SlotRequest) -> None:
        """Return trials that were not begun to the front of the backlog, in their order."""
        for trial_id in reversed(request.returned):
            name, holder = self._begun.get(trial_id, ("", ""))
            if holder == request.holder:
                del self._begun[trial_id]
                self.providers[name].take_back(trial_id)

    def put_back(self, holder: str) -> None:
        """Return a holder's unfinished trials to the front of the backlog."""
        for provider, trial_id in self._taken_from(holder):
            provider.waiting.appendleft(trial_id)

    def lose(self, holder: str) -> None:
        """Return the unfinished trials of a holder whose worker died to the end of the backlog."""
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
        """Give up the trials of silent providers once no other trials are left."""
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
        # Agents without a model keep the CPU busy with their tools. A local model on the same CPU
        # and they would slow each other down, so its trials start after theirs.
        others = self.providers.get(NO_MODEL)
        is_last = provider.name == _LOCAL and others is not None and bool(others.waiting)
        return is_last, provider.begun, provider.served

    def _begin(self, provider: ProviderQueue, holder: str) -> str:
        trial_id = provider.begin(next(self._times))
        self._begun[trial_id] = provider.name, holder
        return trial_id

    def _end(self, trial_id: str, now: float) -> None:
        # A worker declared lost may still report a trial that another worker finished.
        if trial_id in self._begun:
            self._leave_slot(trial_id, now)
            self.done += 1

    def _leave_slot(self, trial_id: str, now: float) -> None:
        name, _ = self._begun.pop(trial_id)
        self.providers[name].end(now)


class Holder:
    """One shift's side of the protocol with the backlog."""

    def __init__(self, take: TakeTrials) -> None:
        self._take = take
        self._name = uuid4().hex
        self._heard: set[str] = set()
        """Running trials that have had a model reply."""
        self._answered: set[str] = set()
        self._unanswered: deque[str] = deque()

    def answered(self, trial_id: str) -> None:
        """Record that a trial had a model reply."""
        self._heard.add(trial_id)
        self._answered.add(trial_id)

    def unanswered(self, trial_id: str) -> None:
        """Record that a trial ends because its provider did not answer.

        A trial that had a reply earlier does not count against the provider.
        """
        if trial_id not in self._heard:
            self._unanswered.append(trial_id)

    @property
    def has_silence(self) -> bool:
        """Whether a trial ended unanswered of which the backlog has not been told."""
        return bool(self._unanswered)

    def next(self, free: int, done: Iterable[str] = (), returned: Iterable[str] = ()) -> SlotGrant:
        """Report what happened since the last call, give trials back, and return others."""
        recorded = tuple(done)
        self._heard.difference_update(recorded)
        request = SlotRequest(
            holder=self._name,
            free=free,
            done=recorded,
            answered=_all_of(self._answered),
            unanswered=_all_of(self._unanswered),
            returned=tuple(returned),
        )
        return self._take(request)

    def leave(self) -> None:
        """Give back the trials that were started and not stored."""
        self._take(SlotRequest(holder=self._name, leaves=True))


def _all_of(noted: deque[str] | set[str]) -> tuple[str, ...]:
    """Empty the notes and return them; another thread may be adding to them."""
    return tuple(noted.pop() for _ in range(len(noted)))


@contextmanager
def holding(take: TakeTrials) -> Iterator[Holder]:
    """Yield a new holder; afterwards its unfinished trials are available to other workers."""
    holder = Holder(take)
    try:
        yield holder
    finally:
        try:
            holder.leave()
        # The transport decides what it raises. A lost backlog needs no report, so this only logs.
        except Exception as exc:  # noqa: BLE001
            _logger.warning("could not give unfinished trials back to the backlog: %s", exc)
