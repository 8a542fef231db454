"""Worker processes that share one coordinator; here several limiters of one process."""

import asyncio
import threading
import time
from contextlib import ExitStack

import pytest

from environments.models.limits.coordinator import Answer, Coordinator, Report
from environments.models.limits.limiter import ProcessLimiter
from environments.models.limits.protocols import Outcome
from taskdata.errors import BudgetExhausted, ModelUnavailable
from taskdata.schema.ceilings import Ceilings


class Post:
    """Carries reports to a coordinator, as the workers' scheduler does, and counts them."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._lock = threading.Lock()
        self.reports = 0
        self.is_down = False

    def __call__(self, report: Report) -> Answer:
        if self.is_down:
            raise ConnectionError("the scheduler is gone")
        with self._lock:
            self.reports += 1
            return self._coordinator.exchange(report)


class Server:
    """Counts the calls in flight, and the most there ever were."""

    def __init__(self) -> None:
        self.in_flight = self.most = self.calls = 0

    async def call(self, limiter, seconds=0.01, provider="openai"):
        async with limiter.slot(provider, 10, 20.0) as slot:
            self.calls += 1
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)
            await asyncio.sleep(seconds)
            self.in_flight -= 1
            slot.report(Outcome(kind="ok", tokens=10))


def shared(post, workers):
    """Run limiters that speak through `post` for the length of a block."""
    stack = ExitStack()
    names = [f"worker-{number}" for number in range(workers)]
    return stack, [stack.enter_context(ProcessLimiter(n, post).running()) for n in names]


def test_workers_never_exceed_a_limit_together():
    post, server = Post(Coordinator({"openai": Ceilings(concurrency=3)})), Server()
    stack, limiters = shared(post, 4)

    async def flood():
        await asyncio.gather(*(server.call(lim) for lim in limiters for _ in range(10)))

    with stack:
        asyncio.run(flood())
    assert server.calls == 40
    assert server.most <= 3


def test_one_wedged_provider_holds_up_no_other():
    post, server = Post(Coordinator({"stuck": Ceilings(concurrency=1)})), Server()
    stack, (limiter,) = shared(post, 1)

    async def both():
        wedged = [asyncio.create_task(server.call(limiter, 60, "stuck")) for _ in range(5)]
        await asyncio.sleep(0.1)
        started = time.monotonic()
        await asyncio.gather(*(server.call(limiter, 0.01, "openai") for _ in range(10)))
        took = time.monotonic() - started
        for task in wedged:
            task.cancel()
        await asyncio.gather(*wedged, return_exceptions=True)
        return took

    with stack:
        assert asyncio.run(both()) < 5


def test_a_pause_that_one_worker_is_told_holds_for_the_others():
    post = Post(Coordinator())
    stack, (first, second) = shared(post, 2)

    async def paused():
        async with first.slot("openai", 10, 20.0) as slot:
            slot.report(Outcome(kind="limited", retry_after_seconds=30))
        await asyncio.sleep(0.5)
        with pytest.raises(ModelUnavailable, match="rate limits left no room"):
            async with second.slot("openai", 10, 1.0):
                pass

    with stack:
        asyncio.run(paused())


def test_calls_go_on_by_the_last_share_when_the_coordinator_is_gone():
    post, server = Post(Coordinator({"openai": Ceilings(concurrency=2)})), Server()
    stack, (limiter,) = shared(post, 1)

    async def calls():
        await asyncio.gather(*(server.call(limiter, 0.05) for _ in range(4)))
        post.is_down = True
        await asyncio.gather(*(server.call(limiter, 0.05) for _ in range(4)))

    with stack:
        asyncio.run(calls())
    assert server.calls == 8
    assert server.most <= 2


def test_reports_do_not_grow_with_calls():
    post, server = Post(Coordinator()), Server()
    stack, (limiter,) = shared(post, 1)

    async def calls():
        for _ in range(20):
            await asyncio.gather(*(server.call(limiter, 0.0) for _ in range(100)))

    with stack:
        asyncio.run(calls())
    assert server.calls == 2000
    assert post.reports < 500


def test_no_call_is_made_that_there_is_no_money_for():
    post = Post(Coordinator(max_usd=1.0))
    stack, limiters = shared(post, 3)
    spent, refused = [], []

    async def pay(budget):
        try:
            async with budget.reserved(0.2, 20.0) as payment:
                await asyncio.sleep(0.01)
                payment.cost_usd = 0.15
            spent.append(0.15)
        except BudgetExhausted:
            refused.append(budget)

    async def all_pay():
        await asyncio.gather(*(pay(lim.budget) for lim in limiters for _ in range(10)))

    with stack:
        asyncio.run(all_pay())
    assert len(spent) + len(refused) == 30
    assert 0.8 < sum(spent) <= 1.0


def test_batches_that_overlap_in_one_process_share_a_thread():
    post, server = Post(Coordinator({"openai": Ceilings(concurrency=2)})), Server()
    limiter = ProcessLimiter("worker", post)
    outer = limiter.running()
    outer.__enter__()
    with limiter.running():
        asyncio.run(server.call(limiter))
    asyncio.run(server.call(limiter))
    outer.__exit__(None, None, None)
    assert server.calls == 2


def test_a_report_that_gets_lost_is_made_again():
    post, server = Post(Coordinator({"openai": Ceilings(concurrency=2)})), Server()
    stack, (limiter,) = shared(post, 1)

    async def calls():
        post.is_down = True
        waiting = asyncio.create_task(server.call(limiter))
        await asyncio.sleep(0.3)
        post.is_down = False
        await asyncio.wait_for(waiting, 10)

    with stack:
        asyncio.run(calls())
    assert server.calls == 1


def test_money_that_others_hold_is_not_waited_for_without_end():
    post = Post(Coordinator(max_usd=1.0))
    stack, (limiter,) = shared(post, 1)

    async def both():
        async with limiter.budget.reserved(0.9, 20.0):
            with pytest.raises(ModelUnavailable, match="held its money"):
                async with limiter.budget.reserved(0.5, 0.3):
                    pass

    with stack:
        asyncio.run(both())


def test_a_call_that_no_coordinator_gives_money_for_does_not_blame_other_calls():
    post = Post(Coordinator(max_usd=1.0))
    stack, (limiter,) = shared(post, 1)

    async def hold(usd):
        async with limiter.budget.reserved(usd, 0.5):
            pass

    with stack:
        post.is_down = True
        with pytest.raises(ModelUnavailable, match="coordinator, which grants it, is out of reach"):
            asyncio.run(hold(0.1))
        post.is_down = False
        asyncio.run(hold(0.1))


def test_workers_that_are_refused_slow_down_as_one():
    most, post = 8, Post(Coordinator())
    stack, limiters = shared(post, 3)
    busy, answered, refused = [], [], []

    async def call(limiter):
        async with limiter.slot("openai", 10, 20.0) as slot:
            if len(busy) >= most:
                refused.append(limiter)
                slot.report(Outcome(kind="limited", retry_after_seconds=0.01))
                return
            busy.append(limiter)
            await asyncio.sleep(0.02)
            busy.remove(limiter)
            answered.append(limiter)
            slot.report(Outcome(kind="ok"))

    async def calls():
        await asyncio.gather(*(call(lim) for lim in limiters for _ in range(200)))

    with stack:
        asyncio.run(calls())
    assert len(refused) < 0.25 * len(answered)
    assert {id(limiter) for limiter in answered} == {id(limiter) for limiter in limiters}
