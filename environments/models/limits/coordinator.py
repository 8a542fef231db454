"""What one run's workers may use together: provider limits and money, dealt out in shares.

Each worker limits its own calls (`local`) and exchanges a word with the coordinator a few times a
second, whatever the number of its calls: what it wants and what it has learned of the provider go
up, its share comes back. Under a cap on money it also asks soon for each call, but all that wait
share a word. There is one `Window` for a provider, which grows by what all workers
learn. Refusals that several workers meet at once halve it once: each says by which window its
refused call began, and only the present one counts. A slot is given on only when its last holder
is done with it, so the workers never exceed the window together. A worker that is not heard of for
a while loses its share, so a killed one holds up nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from environments.models.limits.local import by_limited_name, ceilings_of
from environments.models.limits.seam import Allowance, Share, Want
from environments.models.limits.window import Window
from taskdata.schema.base import Value
from taskdata.schema.ceilings import Ceilings

EXCHANGE_SECONDS = 0.25
"""Between two words of a worker that has calls, and nothing that is urgent."""

FORGOTTEN_AFTER_SECONDS = 30.0
"""Longer than any exchange takes; a worker that is silent for so long has no calls any more."""

_TURN_SECONDS = 1.0
"""How long a worker keeps its slot where there are fewer slots than workers."""


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
class _Heard:
    """What a provider said last, and to whom."""

    allowance: Allowance
    worker: str
    at: float

    def news(self, worker: str, since: float, now: float) -> Allowance | None:
        """Return what should be left by now; None if the worker knows."""
        if self.worker == worker or self.at <= since:
            return None
        return _refilled(self.allowance, now - self.at)


@dataclass
class _Provider:
    window: Window
    paused_until: float
    requests: _Heard | None = None
    input_tokens: _Heard | None = None


@dataclass
class _Worker:
    heard_at: float = float("-inf")
    wants: dict[str, Want] = field(default_factory=dict)
    held_usd: float = 0.0
    slots: dict[str, int] = field(default_factory=dict)
    """What it was last told, by provider."""
    turn_ended_at: float = float("-inf")
    turn_began_at: float | None = None

    def may_have_in_flight(self, provider: str) -> int:
        """Return how many calls it may have made by what it was told, or still has."""
        want = self.wants.get(provider)
        return max(self.slots.get(provider, 0), want.in_flight if want else 0)


class Coordinator:
    """Decides who gets what; knows no clock, loop or network. Times are any rising seconds."""

    def __init__(
        self,
        ceilings: Mapping[str, Ceilings] | None = None,
        max_usd: float | None = None,
        spent_usd: float = 0.0,
    ) -> None:
        """Deal out the configured limits of each provider, and what is left of `max_usd`.

        `spent_usd` is infinite where nobody knows what was spent: then no call gets any money.
        """
        self._ceilings = by_limited_name(ceilings or {})
        self._max_usd = max_usd
        self._spent_before = spent_usd
        self._spent_by: dict[str, float] = {}
        self._lost_by: dict[str, float] = {}
        self._providers: dict[str, _Provider] = {}
        self._workers: dict[str, _Worker] = {}

    @property
    def spent_usd(self) -> float:
        """What the workers have reported, and what was spent before."""
        return self._spent_before + sum(self._spent_by.values()) + sum(self._lost_by.values())

    def exchange(self, word: Word, now: float) -> Answer:
        """Take in what a worker says and return what it may use."""
        self._forget_the_silent(now)
        worker = self._workers.setdefault(word.worker, _Worker())
        since, worker.heard_at, worker.wants = worker.heard_at, now, dict(word.wants)
        for provider, want in word.wants.items():
            self._learn(provider, word.worker, want, now)
        shares = {name: self._share(name, word.worker, since, now) for name in word.wants}
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

    def _forget_the_silent(self, now: float) -> None:
        """What they held counts as spent until they return."""
        for name, worker in list(self._workers.items()):
            if now - worker.heard_at > FORGOTTEN_AFTER_SECONDS:
                self.forget(name)

    def _ceilings_of(self, provider: str) -> Ceilings:
        return ceilings_of(self._ceilings, provider) or Ceilings()

    def _learn(self, provider: str, name: str, want: Want, now: float) -> None:
        most = self._ceilings_of(provider).concurrency
        if provider not in self._providers:
            # The worker may know from a coordinator before this one.
            known = (want.window or Window()).within(most)
            self._providers[provider] = _Provider(known, paused_until=now)
        about = self._providers[provider]
        about.window = about.window.grown(want.answers, most)
        if want.refused == about.window.decreases:
            about.window = about.window.halved()
        about.paused_until = max(about.paused_until, now + want.pause_seconds)
        if want.requests is not None:
            about.requests = _Heard(want.requests, name, now)
        if want.input_tokens is not None:
            about.input_tokens = _Heard(want.input_tokens, name, now)

    def _share(self, provider: str, name: str, since: float, now: float) -> Share:
        ceilings, about = self._ceilings_of(provider), self._providers[provider]
        wanting = {
            other: worker.wants[provider].calls
            for other, worker in self._workers.items()
            if provider in worker.wants and worker.wants[provider].calls
        }
        window = int(about.window.size)
        dealt = self._fair_slots(window, wanting, now)
        fair = dealt.get(name, 0)
        others = (w for other, w in self._workers.items() if other != name)
        free = window - sum(w.may_have_in_flight(provider) for w in others)
        slots = max(0, min(fair, free))
        self._workers[name].slots[provider] = slots
        return Share(
            concurrency=slots,
            part=fair / sum(dealt.values()) if fair else 1.0,
            requests_per_minute=ceilings.requests_per_minute,
            tokens_per_minute=ceilings.tokens_per_minute,
            requests=about.requests and about.requests.news(name, since, now),
            input_tokens=about.input_tokens and about.input_tokens.news(name, since, now),
            pause_seconds=max(0.0, about.paused_until - now),
            window=about.window,
        )

    def _fair_slots(self, slots: int, wanting: Mapping[str, int], now: float) -> dict[str, int]:
        """Return the slots of each who wants some: in proportion, or in turn if there are fewer."""
        if slots >= len(wanting):
            return deal(slots, wanting)
        for worker in (self._workers[name] for name in wanting):
            if worker.turn_began_at is not None and now - worker.turn_began_at >= _TURN_SECONDS:
                worker.turn_began_at, worker.turn_ended_at = None, now
        order = sorted(wanting, key=self._turn)[:slots]
        for name in order:
            if self._workers[name].turn_began_at is None:
                self._workers[name].turn_began_at = now
        return dict.fromkeys(order, 1)

    def _turn(self, name: str) -> tuple[bool, float, str]:
        worker = self._workers[name]
        return (worker.turn_began_at is None, worker.turn_ended_at, name)

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


def deal(slots: int, wanting: Mapping[str, int]) -> dict[str, int]:
    """Return how many of `slots` each gets: at least one, the rest in proportion to the wants.

    `slots` is at least the number of those who want. What nobody wants is dealt out as well, so
    that a worker with more to do need not ask first.
    """
    spare = slots - len(wanting)
    weights = {name: max(1, calls) for name, calls in wanting.items()}
    total = sum(weights.values())
    exact = {name: spare * weight / total for name, weight in weights.items()}
    dealt = {name: 1 + int(share) for name, share in exact.items()}
    for name in _largest_remainders(exact, slots - sum(dealt.values())):
        dealt[name] += 1
    return dealt


def _largest_remainders(exact: Mapping[str, float], count: int) -> Iterable[str]:
    return sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name))[:count]


def _refilled(allowance: Allowance, seconds: float) -> Allowance:
    left = max(0.0, allowance.reset_seconds - seconds)
    if not left:
        return allowance.model_copy(update={"remaining": allowance.limit, "reset_seconds": 0.0})
    missing = (allowance.limit - allowance.remaining) * left / allowance.reset_seconds
    remaining = max(0.0, allowance.limit - missing)
    return allowance.model_copy(update={"remaining": remaining, "reset_seconds": left})
