"""Workers that share a coordinator, and a provider with a limit, over made-up time."""

from collections import deque
from dataclasses import dataclass, field

from environments.models.limits.coordinator import Coordinator, Report
from environments.models.limits.protocols import Allowance, Outcome
from environments.models.limits.provider_limits import ProviderLimits

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
    """Always has more to call; reports every quarter of a second, and at once if that is urgent."""

    name: str
    limits: ProviderLimits
    waiting: int = 100
    calls: deque[tuple[float, int]] = field(default_factory=deque)
    is_urgent: bool = True
    reported_at: float = -1.0
    made: int = 0

    def report(self, coordinator: Coordinator, now: float) -> None:
        if not self.is_urgent and now - self.reported_at < 0.25 - 1e-9:
            return
        demand = self.limits.demand(self.waiting, now)
        answer = coordinator.exchange(Report(worker=self.name, demands={"p": demand}), now)
        self.limits.keep_to(answer.shares["p"], demand, now)
        self.is_urgent, self.reported_at = False, now

    def work(self, provider: Provider, now: float) -> None:
        while self.calls and self.calls[0][0] + LATENCY <= now + 1e-9:
            provider.in_flight -= 1
            provider.answered += 1
            self.made += 1
            self.end(self.calls.popleft()[1], provider.says("ok"), now)
            self.begin(provider, now)
        self.begin(provider, now)

    def begin(self, provider: Provider, now: float) -> None:
        refused = []
        while self.waiting and self.limits.wait(1, now) == 0:
            decreases = self.limits.start(1, now)
            if provider.takes():
                self.calls.append((now, decreases))
            else:
                refused.append(decreases)
        for decreases in refused:
            self.end(decreases, provider.says("limited"), now)

    def end(self, decreases: int, outcome: Outcome, now: float) -> None:
        self.is_urgent |= self.limits.end(1, decreases, outcome, now)


def share(provider: Provider, workers: int, seconds: float) -> list[Worker]:
    """Have so many workers call a provider for a while."""
    coordinator = Coordinator()
    crew = [Worker(f"w{number}", ProviderLimits(0.0)) for number in range(workers)]
    for step in range(round(seconds / STEP)):
        now = step * STEP
        provider.pass_time()
        for worker in crew:
            worker.work(provider, now)
            worker.report(coordinator, now)
    return crew
