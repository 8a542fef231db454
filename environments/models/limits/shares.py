"""Provider limits, dealt out in shares to the workers of every run that has them in common.

There is one `Window` for a provider, which grows by what all workers learn. Refusals that several
workers meet at once halve it once: each says by which window its refused call began, and only the
present one counts. A slot is given on only when its last holder is done with it, so the workers
never exceed the window together. A worker that is not heard of for a while loses its share, so a
killed one holds up nobody. Where runs are configured differently, the strictest limit holds for all
of them while they are at work.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from environments.models.limits.local import ceilings_of
from environments.models.limits.seam import Allowance, Share, Want
from environments.models.limits.window import Window
from taskdata.schema.ceilings import Ceilings

FORGOTTEN_AFTER_SECONDS = 30.0
"""Longer than any exchange takes; a worker that is silent for so long has no calls any more."""

_TURN_SECONDS = 1.0
"""How long a worker keeps its slot where there are fewer slots than workers."""


class Board(Protocol):
    """Where the workers of one run, or of several, get their shares."""

    def shares_of(
        self, name: str, wants: Mapping[str, Want], ceilings: Mapping[str, Ceilings], now: float
    ) -> dict[str, Share]:
        """Take in what a worker wants, and what its run is configured to; return its shares."""
        ...

    def forget(self, names: Iterable[str]) -> None:
        """Give the shares of lost workers to the others."""
        ...


class _Kept(BaseModel):
    """Something that changes, and that a file can keep."""

    model_config = ConfigDict(ser_json_inf_nan="constants")


class _Heard(_Kept):
    """What a provider said last, and to whom."""

    allowance: Allowance
    worker: str
    at: float

    def news(self, worker: str, since: float, now: float) -> Allowance | None:
        """Return what should be left by now; None if the worker knows."""
        if self.worker == worker or self.at <= since:
            return None
        return _refilled(self.allowance, now - self.at)


class _Provider(_Kept):
    window: Window
    paused_until: float
    requests: _Heard | None = None
    input_tokens: _Heard | None = None


class _Worker(_Kept):
    heard_at: float = float("-inf")
    wants: dict[str, Want] = Field(default_factory=dict)
    ceilings: dict[str, Ceilings] = Field(default_factory=dict)
    slots: dict[str, int] = Field(default_factory=dict)
    """What it was last told, by provider."""
    turn_ended_at: float = float("-inf")
    turn_began_at: float | None = None

    def may_have_in_flight(self, provider: str) -> int:
        """Return how many calls it may have made by what it was told, or still has."""
        want = self.wants.get(provider)
        return max(self.slots.get(provider, 0), want.in_flight if want else 0)


class Shares(_Kept):
    """A `Board` in memory; knows no clock, loop or network. Times are any rising seconds."""

    providers: dict[str, _Provider] = Field(default_factory=dict)
    workers: dict[str, _Worker] = Field(default_factory=dict)

    def shares_of(
        self, name: str, wants: Mapping[str, Want], ceilings: Mapping[str, Ceilings], now: float
    ) -> dict[str, Share]:
        """Take in what a worker wants; see `Board`."""
        self.forget_the_silent(now)
        worker = self.workers.setdefault(name, _Worker())
        since, worker.heard_at, worker.wants = worker.heard_at, now, dict(wants)
        worker.ceilings = dict(ceilings)
        for provider, want in wants.items():
            self._learn(provider, name, want, now)
        return {provider: self._share(provider, name, since, now) for provider in wants}

    def forget(self, names: Iterable[str]) -> None:
        """Give the shares of lost workers to the others."""
        for name in names:
            self.workers.pop(name, None)

    def forget_the_silent(self, now: float) -> None:
        """Give their shares to the others."""
        self.forget(
            [
                name
                for name, worker in self.workers.items()
                if now - worker.heard_at > FORGOTTEN_AFTER_SECONDS
            ]
        )

    def _ceilings_of(self, provider: str) -> Ceilings:
        """Return the strictest limits of the runs that are at work."""
        strictest = Ceilings()
        for worker in self.workers.values():
            found = ceilings_of(worker.ceilings, provider)
            if found is not None:
                strictest = strictest.and_also(found)
        return strictest

    def _learn(self, provider: str, name: str, want: Want, now: float) -> None:
        most = self._ceilings_of(provider).concurrency
        if provider not in self.providers:
            # The worker may know from a coordinator before this one.
            known = (want.window or Window()).within(most)
            self.providers[provider] = _Provider(window=known, paused_until=now)
        about = self.providers[provider]
        about.window = about.window.grown(want.answers, most)
        if want.refused == about.window.decreases:
            about.window = about.window.halved()
        about.paused_until = max(about.paused_until, now + want.pause_seconds)
        if want.requests is not None:
            about.requests = _Heard(allowance=want.requests, worker=name, at=now)
        if want.input_tokens is not None:
            about.input_tokens = _Heard(allowance=want.input_tokens, worker=name, at=now)

    def _share(self, provider: str, name: str, since: float, now: float) -> Share:
        ceilings, about = self._ceilings_of(provider), self.providers[provider]
        wanting = {
            other: worker.wants[provider].calls
            for other, worker in self.workers.items()
            if provider in worker.wants and worker.wants[provider].calls
        }
        window = int(about.window.size)
        dealt = self._fair_slots(window, wanting, now)
        fair = dealt.get(name, 0)
        others = (w for other, w in self.workers.items() if other != name)
        free = window - sum(w.may_have_in_flight(provider) for w in others)
        slots = max(0, min(fair, free))
        self.workers[name].slots[provider] = slots
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
        for worker in (self.workers[name] for name in wanting):
            if worker.turn_began_at is not None and now - worker.turn_began_at >= _TURN_SECONDS:
                worker.turn_began_at, worker.turn_ended_at = None, now
        order = sorted(wanting, key=self._turn)[:slots]
        for name in order:
            if self.workers[name].turn_began_at is None:
                self.workers[name].turn_began_at = now
        return dict.fromkeys(order, 1)

    def _turn(self, name: str) -> tuple[bool, float, str]:
        worker = self.workers[name]
        return (worker.turn_began_at is None, worker.turn_ended_at, name)


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
