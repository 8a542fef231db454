"""Callers in line: several loops, providers and impatient ones."""

import asyncio
import threading
import time

import pytest

from environments.models.limits.coordinator import Coordinator, Report
from environments.models.limits.limiter import ProcessLimiter
from environments.models.limits.protocols import Outcome
from environments.models.limits.shared_limits import Demand
from taskdata.errors import ModelUnavailable
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limiters import limiter_of

OK = Outcome(kind="ok")


async def hold(
    limiter: ProcessLimiter, provider: str, seconds: float, patience: float = 5.0
) -> float:
    """Hold a slot for a while; return how long it was waited for."""
    async with limiter.slot(provider, 10, patience) as slot:
        await asyncio.sleep(seconds)
        slot.report(OK)
        return slot.waited_seconds


def test_callers_take_turns_in_the_order_they_came():
    async def crowd() -> list[int]:
        limiter, order = limiter_of({"p": Ceilings(concurrency=2)}), []

        async def call(number: int) -> None:
            async with limiter.slot("p", 10, 5.0):
                order.append(number)
                await asyncio.sleep(0.005)

        await asyncio.gather(*(call(number) for number in range(12)))
        return order

    assert asyncio.run(crowd()) == list(range(12))


@pytest.mark.parametrize(
    "name", ["openai", "openai-chat", "openai-responses", "openai-responses@api.openai.com"]
)
def test_limits_hold_however_their_provider_is_asked(name):
    async def two() -> list[float]:
        limiter = limiter_of({name: Ceilings(concurrency=1)})
        return await asyncio.gather(*(hold(limiter, "openai@api.openai.com", 0.1) for _ in "ab"))

    assert max(asyncio.run(two())) > 0.08
    coordinator = Coordinator({name: Ceilings(concurrency=1)})
    report = Report(worker="a", demands={"openai@api.openai.com": Demand(calls=9)})
    assert coordinator.exchange(report, 0.0).shares["openai@api.openai.com"].slots == 1


def test_time_in_line_is_told():
    async def two() -> tuple[float, float]:
        limiter = limiter_of({"p": Ceilings(concurrency=1)})
        return await asyncio.gather(hold(limiter, "p", 0.1), hold(limiter, "p", 0.0))

    first, second = asyncio.run(two())

    assert first < 0.05
    assert 0.08 < second < 1.0


def test_a_wedged_provider_holds_up_nobody_else():
    async def both() -> float:
        limiter = limiter_of({"wedged": Ceilings(concurrency=1)})
        stuck = [asyncio.create_task(hold(limiter, "wedged", 60.0)) for _ in range(3)]
        await asyncio.sleep(0.01)
        waited = await hold(limiter, "fine", 0.0)
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        return waited

    assert asyncio.run(both()) < 0.05


def test_patience_ends_in_an_error_that_says_what_to_do():
    async def impatient() -> None:
        limiter = limiter_of({"p": Ceilings(concurrency=1)})
        first = asyncio.create_task(hold(limiter, "p", 0.3))
        await asyncio.sleep(0.01)
        try:
            await hold(limiter, "p", 0.0, patience=0.05)
        finally:
            await first
        assert await hold(limiter, "p", 0.0) < 0.05, "who gave up is no longer in line"

    with pytest.raises(ModelUnavailable, match=r"no room for a call within 0\.05 s; run fewer"):
        asyncio.run(impatient())


def test_who_is_cancelled_in_line_or_with_a_slot_leaves_no_trace():
    async def cancelled() -> float:
        limiter = limiter_of({"p": Ceilings(concurrency=1)})
        holding = asyncio.create_task(hold(limiter, "p", 60.0))
        await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(hold(limiter, "p", 60.0)) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in (waiting[1], holding, waiting[0], waiting[2]):
            task.cancel()
        await asyncio.gather(holding, *waiting, return_exceptions=True)
        return await hold(limiter, "p", 0.0)

    assert asyncio.run(cancelled()) < 0.05


def test_a_pause_that_the_provider_asked_for_is_kept_by_all():
    async def paused() -> float:
        limiter = limiter_of()
        async with limiter.slot("p", 10, 1.0) as slot:
            slot.report(Outcome(kind="limited", retry_after_seconds=0.2))
        return min(await asyncio.gather(*(hold(limiter, "p", 0.0) for _ in range(5))))

    assert 0.15 < asyncio.run(paused()) < 1.0


def test_event_loops_of_a_process_share_the_slots():
    limiter, inside, most = limiter_of({"p": Ceilings(concurrency=3)}), [], []

    async def call() -> None:
        async with limiter.slot("p", 10, 5.0):
            inside.append(1)
            most.append(len(inside))
            await asyncio.sleep(0.005)
            inside.pop()

    def loop() -> None:
        async def crowd() -> None:
            await asyncio.gather(*(call() for _ in range(10)))

        asyncio.run(crowd())

    threads = [threading.Thread(target=loop) for _ in range(3)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert len(most) == 30
    assert max(most) <= 3
    assert time.monotonic() - begun < 5
