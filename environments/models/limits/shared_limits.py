"""A provider's limits, divided among all workers of all active runs of an installation.

A provider has one `AimdWindow`. Refusals that several workers meet at the same time halve it once:
each worker reports the window in which the refused call began, and only the current window can be
halved. A slot moves to another worker only after its holder has reported the end of its call, so
workers never exceed the window together. If runs have different limits, the strictest applies.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.models.limits.rates import AimdWindow
from taskdata.schema.base import Value
from taskdata.schema.ceilings import Ceilings

FORGOTTEN_AFTER_SECONDS = 30.0
"""A worker that reports nothing for so long loses its share; no exchange takes that long."""

_TURN_SECONDS = 1.0
"""How long a worker keeps its slot if there are fewer slots than workers."""


class Demand(Value):
    """What one worker could use of a provider, and what it has learned since its last report."""

    calls: int = Field(ge=0)
    """Calls in flight and waiting."""
    in_flight: int = Field(default=0, ge=0)
    pause_seconds: float = Field(default=0.0, ge=0)
    """For how much longer the provider told the worker to send nothing."""
    answers: int = Field(default=0, ge=0)
    """Answers to calls that needed all of the worker's slots."""
    refused: int | None = None
    """The `decreases` of the window in which a refused call began; None: none was refused."""


class Share(Value):
    """What one worker may use of a provider until its next share."""

    slots: int = Field(default=0, ge=0)
    """Concurrent calls; 0: it is another worker's turn, or nothing was wanted."""
    part: float = Field(default=1.0, gt=0, le=1)
    """The worker's fraction of all limits per minute."""
    ceilings: Ceilings = Ceilings()
    """The configured limits, for all workers together."""
    pause_seconds: float = Field(default=0.0, ge=0)
    window: AimdWindow = AimdWindow()
    """The window for all workers together."""


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Provider(_Stored):
    window: AimdWindow = AimdWindow()
    paused_at: float = 0.0
    paused_until: float = 0.0

    def pause(self, seconds: float, now: float) -> float:
        """Take up a pause of so many seconds; return how many are left of all pauses."""
        if now < self.paused_at:
            # The clock was set back: a pause of seconds must not become one of an hour.
            self.paused_until -= self.paused_at - now
            self.paused_at = now
        if now + seconds > self.paused_until:
            self.paused_at, self.paused_until = now, now + seconds
        return max(0.0, self.paused_until - now)


class _Worker(_Stored):
    heard_at: float
    demands: dict[str, Demand]
    ceilings: dict[str, Ceilings]
    slots: dict[str, int]
    """The worker's last share, by provider."""


class SharedLimits(_Stored):
    """The state of all providers and workers. Times are in seconds of one wall clock."""

    providers: dict[str, _Provider] = {}
    workers: dict[str, _Worker] = {}

    @contextmanager
    def opened(self) -> Iterator["SharedLimits"]:
        """Yield this object, for runs that share it in memory; see `limits_file`."""
        yield self

    def shares(
        self, name: str, demands: Mapping[str, Demand], ceilings: Mapping[str, Ceilings], now: float
    ) -> dict[str, Share]:
        """Process a worker's demands and its run's configured limits; return its shares."""
        # A clock that was set back must not keep a lost worker's share alive.
        age = {other: abs(now - worker.heard_at) for other, worker in self.workers.items()}
        self.forget(other for other, seconds in age.items() if seconds > FORGOTTEN_AFTER_SECONDS)
        slots = self.workers[name].slots if name in self.workers else {}
        self.workers[name] = _Worker(heard_at=now, demands=demands, ceilings=ceilings, slots=slots)
        return {key: self._share(key, name, demand, now) for key, demand in demands.items()}

    def forget(self, names: Iterable[str]) -> None:
        """Free the shares of lost workers; without any worker, what was learned is dropped too."""
        for name in names:
            self.workers.pop(name, None)
        if not self.workers:
            self.providers.clear()

    def _share(self, provider: str, name: str, demand: Demand, now: float) -> Share:
        ceilings, state = (
            self._strictest(provider),
            self.providers.setdefault(provider, _Provider()),
        )
        state.window = state.window.grown(demand.answers, ceilings.concurrency)
        if demand.refused == state.window.decreases:
            state.window = state.window.halved()
        paused = state.pause(demand.pause_seconds, now)
        slots, worker = int(state.window.size), self.workers[name]
        in_use, wanting = 0, {}
        for other, its in self.workers.items():
            wanted = its.demands.get(provider, Demand(calls=0))
            if wanted.calls:
                wanting[other] = wanted.calls
            if other != name:
                in_use += max(its.slots.get(provider, 0), wanted.in_flight)
        divided = divide(slots, wanting, int(now / _TURN_SECONDS))
        fair = divided.get(name, 0)
        worker.slots[provider] = max(0, min(fair, slots - in_use))
        return Share(
            slots=worker.slots[provider],
            part=fair / sum(divided.values()) if fair else 1.0,
            ceilings=ceilings,
            pause_seconds=paused,
            window=state.window,
        )

    def _strictest(self, provider: str) -> Ceilings:
        strictest, family = Ceilings(), provider.partition("@")[0]
        for worker in self.workers.values():
            # The limits of one host take precedence over those of all hosts of a provider.
            found = worker.ceilings.get(provider) or worker.ceilings.get(family)
            strictest = strictest.and_also(found or Ceilings())
        return strictest


def divide(slots: int, wanting: Mapping[str, int], turn: int) -> dict[str, int]:
    """Return the slots of each worker: at least one each, the rest in proportion to demand.

    All slots are divided, so that a worker whose demand grows need not ask first. With fewer slots
    than workers, the workers of the current `turn` get one each.
    """
    names = sorted(wanting)
    if slots < len(names):
        return {names[(turn + number) % len(names)]: 1 for number in range(slots)}
    total, spare = max(1, sum(wanting.values())), slots - len(names)
    # Rounding the cumulated shares keeps their sum exact.
    edges = [0, *(round(spare * calls / total) for calls in accumulate(wanting[n] for n in names))]
    return {name: 1 + edges[i + 1] - edges[i] for i, name in enumerate(names)}


@contextmanager
def limits_file(path: Path) -> Iterator[SharedLimits]:
    """Yield the limits that processes of this machine share in a file, and write them back.

    The file is locked for the length of the block; its folder must exist.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            limits = SharedLimits.model_validate_json(file.read())
        except ValidationError:
            # The file is empty, of another version, or its writer was killed.
            limits = SharedLimits()
        yield limits
        # Not truncated first: some file systems then flush to disk, which takes milliseconds.
        file.seek(0)
        file.write(limits.model_dump_json().encode())
        file.truncate()
