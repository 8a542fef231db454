"""A worker's money: what is held is given back whole, however a call ends."""

import asyncio

import pytest

from environments.models.limits.purse import Purse


def granting() -> Purse:
    """Return a purse whose coordinator grants everything."""
    purses: list[Purse] = []

    def grant() -> None:
        waiting = purses[0].state().waiting
        purses[0].hear(waiting, granted=len(waiting), refused=False)

    purses.append(Purse(lambda: asyncio.get_running_loop().call_soon(grant)))
    return purses[0]


def test_what_is_held_leaves_no_rest_that_would_keep_an_exact_fit_waiting():
    purse = granting()

    async def call(usd: float, seconds: float) -> None:
        async with purse.holding(usd) as payment:
            await asyncio.sleep(seconds)
            payment.cost_usd = usd

    async def calls() -> None:
        await asyncio.gather(call(0.1, 0.03), call(0.2, 0.02), call(0.3, 0.01))

    asyncio.run(calls())
    assert purse.state().held_usd == 0.0
    assert purse.state().spent_usd == pytest.approx(0.6)


def test_a_call_that_is_cut_off_just_as_it_is_granted_holds_nothing():
    purse = Purse(lambda: None)

    async def call() -> None:
        async with purse.holding(0.5):
            raise AssertionError("it was cut off before")

    async def cut_off() -> None:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        purse.hear(purse.state().waiting, granted=1, refused=False)
        assert purse.state().held_usd == 0.5
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_off())
    assert (purse.state().held_usd, purse.state().spent_usd) == (0.0, 0.0)
