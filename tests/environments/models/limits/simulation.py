"""Workers that share a coordinator, and a provider with a limit, over made-up time."""

from collections import deque
from dataclasses import dataclass, field

from environments.models.limits.coordinator import Coordinator, Word
from environments.models.limits.governor import Governor
from environments.models.limits.seam import Allowance, Outcome
from taskdata.schema.ceilings import Ceilings

STEP = 0.05
LATENCY = 0.2


@dataclass
class Provider:
    """Answers after a while; refuses at once what is above its limits."""

    most: int
    per_minute: float | None = None
    in_flight: int = 0
    answered: int = 0
    refused: int = 0
    level: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.per_minute or 0.0

    def takes(self) -> bool:
        if self.in_flight >= self.most or (self.per_minute and self.level < 1):
            self.refused += 1
            return False
        self.in_flight += 1
        self.level -= 1
        return True

    def says(self, kind: str) -> Outcome:
        if self.per_minute is None:
            return Outcome(kind=kind)
        left = max(0.0, self.level)
        seconds = (self.per_minute - left) / self.per_minute * 60
        said = Allowance(limit=self.per_minute, remaining=left, reset_seconds=seconds)
        return Outcome(kind=kind, requests=said)

    def pass_time(self) -> None:
        if self.per_minute:
            self.level = min(self.per_minute, self.level + self.per_minute / 60 * STEP)


@dataclass
class Worker:
    """Always has more to call; speaks every quarter of a second, and at once if that is urgent."""

    name: str
    governor: Governor
    waiting: int = 100
    calls: deque[float] = field(default_factory=deque)
    is_urgent: bool = True
    spoke_at: float = -1.0
    made: int = 0

    def speak(self, coordinator: Coordinator, now: float) -> None:
        if not self.is_urgent and now - self.spoke_at < 0.25 - 1e-9:
            return
        want = self.governor.want(self.waiting, now)
        answer = coordinator.exchange(Word(worker=self.name, wants={"p": want}), now)
        self.governor.deal(answer.shares["p"], now, want)
        self.is_urgent, self.spoke_at = False, now

    def work(self, provider: Provider, now: float) -> None:
        while self.calls and self.calls[0] + LATENCY <= now + 1e-9:
            provider.in_flight -= 1
            provider.answered += 1
            self.made += 1
            self.end(self.calls.popleft(), provider.says("ok"), now)
        refused = 0
        while self.waiting and self.governor.wait(1, now) == 0:
            self.governor.start(1, now)
            if provider.takes():
                self.calls.append(now)
            else:
                refused += 1
        for _ in range(refused):
            self.end(now, provider.says("limited"), now)

    def end(self, started_at: float, outcome: Outcome, now: float) -> None:
        self.is_urgent |= self.governor.end(1, started_at, outcome, now)


def share(provider: Provider, workers: int, seconds: float) -> list[Worker]:
    """Have so many workers call a provider for a while."""
    coordinator = Coordinator()
    crew = [Worker(f"w{number}", Governor(Ceilings(), 0.0)) for number in range(workers)]
    for worker in crew:
        worker.governor.wait_for_share()
    for step in range(round(seconds / STEP)):
        now = step * STEP
        provider.pass_time()
        for worker in crew:
            worker.work(provider, now)
            worker.speak(coordinator, now)
    return crew
