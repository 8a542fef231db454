"""Leave to make one attempt at a call: a slot of the provider, and the run's money for it.

The slot comes first, for whoever stands in line must hold no money that others wait for. The money
is then waited for briefly only, for whoever waits for it must keep nobody out of the line.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from environments.models.limits.purse import MoneyHeld, Payment, Purse
from environments.models.limits.seam import Slot
from taskdata.errors import ModelUnavailable

SECONDS_FOR_MONEY = 2.0
"""With a slot: a coordinator that has the money says so within a fraction of it."""
SECONDS_WITHOUT_MONEY = 5.0
"""Until the next try, without a slot."""

Line = Callable[[float], AbstractAsyncContextManager[Slot]]
"""Opens a slot for one attempt, given the longest wait for it in seconds."""


@dataclass(frozen=True)
class Leave:
    """What an attempt is made with."""

    slot: Slot
    payment: Payment
    waited_seconds: float
    """For both."""


@asynccontextmanager
async def admitted(
    line: Line, purse: Purse | None, usd: float, seconds: float
) -> AsyncIterator[Leave]:
    """Hold a slot and money for the length of the block, once there are both.

    Args:
        line: Where the slot comes from.
        purse: Where the money comes from; None: as much as it costs.
        usd: The most that the attempt may cost; the block notes in the payment what it did cost.
        seconds: Longest wait for both together.

    Raises:
        ModelUnavailable: There was no slot in time.
        MoneyHeld: Other calls held the run's money all the time.
        BudgetExhausted: So much is not left of the run's money.
    """
    if purse is None or not usd:
        async with line(seconds) as slot:
            yield Leave(slot, Payment(), slot.waited_seconds)
        return
    asked, ends, was_held = time.monotonic(), time.monotonic() + seconds, False
    while True:
        async with AsyncExitStack() as both:
            try:
                slot = await both.enter_async_context(line(max(0.0, ends - time.monotonic())))
            except ModelUnavailable:
                if was_held:
                    # There was room before, and no money: the provider is not to blame.
                    raise purse.held_for(seconds) from None
                raise
            briefly = max(0.0, min(SECONDS_FOR_MONEY, ends - time.monotonic()))
            try:
                payment = await both.enter_async_context(purse.holding(usd, briefly))
            except MoneyHeld:
                slot.give_back()
                was_held, left = True, ends - time.monotonic()
                if left <= 0:
                    raise purse.held_for(seconds) from None
            else:
                yield Leave(slot, payment, time.monotonic() - asked)
                return
        await asyncio.sleep(min(SECONDS_WITHOUT_MONEY, left / 2))
