"""Admission of one attempt at a call: a slot at the provider and a reservation of run budget.

The slot comes first, because a call in the queue must not reserve money that others could use. The
wait for the reservation is then short, because a call without money must not hold a slot.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from environments.models.limits.protocols import Slot
from environments.models.money.run_budget import MoneyHeld, Payment, RunBudget
from taskdata.errors import ModelUnavailable

SECONDS_FOR_MONEY = 2.0
"""Wait for money while holding a slot; a coordinator with money answers far sooner."""
SECONDS_WITHOUT_MONEY = 5.0
"""Pause before the next try, without a slot."""

OpenSlot = Callable[[float], AbstractAsyncContextManager[Slot]]
"""Opens a slot for one attempt, given the longest wait for it in seconds."""


@dataclass(frozen=True)
class Admission:
    """The slot and the payment of an attempt."""

    slot: Slot
    payment: Payment
    waited_seconds: float
    """Time waited for the slot and the money together."""


@asynccontextmanager
async def admitted(
    open_slot: OpenSlot, budget: RunBudget | None, usd: float, seconds: float
) -> AsyncIterator[Admission]:
    """Hold a slot and a reservation for the length of the block.

    Args:
        open_slot: Opens a slot.
        budget: The run's budget; None: the run has no cap.
        usd: Most that the attempt may cost; the block notes the actual cost in the payment.
        seconds: Longest wait for both together.

    Raises:
        ModelUnavailable: no slot was free in time.
        MoneyHeld: other calls had the run's money reserved all the time.
        BudgetExhausted: less than `usd` is left of the run's money.
    """
    asked, was_held = time.monotonic(), False
    while True:
        left = max(0.0, asked + seconds - time.monotonic())
        async with AsyncExitStack() as both:
            try:
                slot = await both.enter_async_context(open_slot(left))
            except ModelUnavailable:
                # There was a slot but no money: the provider is not to blame.
                if budget is not None and was_held:
                    raise budget.held_for(seconds) from None
                raise
            if budget is None or not usd:
                yield Admission(slot, Payment(), slot.waited_seconds)
                return
            left = max(0.0, asked + seconds - time.monotonic())
            try:
                reserved = budget.reserved(usd, min(SECONDS_FOR_MONEY, left))
                payment = await both.enter_async_context(reserved)
            except MoneyHeld:
                slot.give_back()
                was_held, left = True, asked + seconds - time.monotonic()
                if left <= 0:
                    raise budget.held_for(seconds) from None
            else:
                yield Admission(slot, payment, time.monotonic() - asked)
                return
        await asyncio.sleep(min(SECONDS_WITHOUT_MONEY, left / 2))
