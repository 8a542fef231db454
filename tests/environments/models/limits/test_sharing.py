"""Workers that share one window: whatever they say and whenever, and over a simulated minute."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.models.limits.coordinator import Coordinator, Report
from environments.models.limits.shared_limits import Demand
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limits.simulation import LATENCY, Provider, share


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_however_many_workers_there_are_they_search_for_the_limit_as_one(workers):
    provider = Provider(most=40)
    crew = share(provider, workers, 60.0)

    assert provider.answered > 0.65 * 60 * provider.most / LATENCY
    assert provider.refused < 0.02 * provider.answered
    assert min(worker.made for worker in crew) > 0.8 * max(worker.made for worker in crew)


@pytest.mark.parametrize("workers", [1, 4])
def test_what_the_provider_says_is_left_of_a_minute_is_used_once_by_all(workers):
    provider = Provider(most=1000, per_minute=600)
    share(provider, workers, 60.0)

    assert 0.95 * 1200 < provider.answered <= 1200
    assert provider.refused < 0.01 * provider.answered


@dataclass
class Told:
    """A worker: what it was told, and what it does by it."""

    slots: int = 0
    decreases: int = 0
    in_flight: int = 0
    waiting: int = 0

    def may_have(self) -> int:
        return max(self.slots, self.in_flight)


steps = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.sampled_from(["call", "start", "end", "say", "say", "say refused", "be silent"]),
        st.integers(0, 40),
    ),
    max_size=200,
)


class Crew:
    """Workers that do what the steps say, as far as their shares allow."""

    def __init__(self, most: int) -> None:
        self.coordinator = Coordinator({"p": Ceilings(concurrency=most)})
        self.workers: dict[str, Told] = {}
        self.now = 0.0

    def take(self, name: str, step: str, count: int) -> None:
        worker = self.workers.setdefault(name, Told())
        if step == "call":
            worker.waiting += count
        elif step == "start":
            started = max(0, min(count, worker.waiting, worker.slots - worker.in_flight))
            worker.in_flight += started
            worker.waiting -= started
        elif step == "end":
            worker.in_flight -= min(count, worker.in_flight)
        elif step == "be silent":
            self.now += count / 40
        else:
            self.say(name, count, is_refused=step == "say refused")

    def say(self, name: str, answers: int, *, is_refused: bool = False) -> None:
        worker = self.workers[name]
        demand = Demand(
            calls=worker.in_flight + worker.waiting,
            in_flight=worker.in_flight,
            answers=answers,
            refused=worker.decreases if is_refused else None,
        )
        answer = self.coordinator.exchange(Report(worker=name, demands={"p": demand}), self.now)
        told = answer.shares["p"]
        worker.slots, worker.decreases = told.slots, told.window.decreases
        others = sum(other.may_have() for other in self.workers.values() if other is not worker)
        assert worker.slots == 0 or worker.slots + others <= int(told.window.size)
        self.size = told.window.size


@settings(deadline=None)
@given(steps, st.integers(1, 60))
def test_no_order_of_words_deals_more_than_the_window_and_none_ends_all_calls(steps, most):
    crew = Crew(most)
    for name, step, count in [("a", "call", 1), ("a", "say", 0), *steps]:
        crew.take(name, step, count)
    for worker in crew.workers.values():
        worker.in_flight = 0
    for _ in range(2):
        for name in crew.workers:
            crew.say(name, 0)

    wanting = [worker for worker in crew.workers.values() if worker.waiting]
    dealt = sum(worker.slots for worker in wanting)
    assert dealt >= min(int(crew.size), len(wanting)), "whoever may call can, or waits its turn"
    before = crew.size
    for _ in range(most):
        crew.say("a", most)
    assert crew.size == most >= before, "when nobody is refused any more it is as before"
