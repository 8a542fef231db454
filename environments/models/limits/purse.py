"""A worker's part of the money that a run may spend: no call is made that there is none for."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from taskdata.errors import BudgetExhausted, ModelUnavailable

_ASKED_AT_ONCE = 64


class MoneyHeld(ModelUnavailable):
    """There was no money for a call for too long: no fault of its provider's."""


@dataclass(eq=False)
class Ask:
    """A call that waits for what it may cost at most."""

    usd: float
    loop: asyncio.AbstractEventLoop
    answered: asyncio.Future[bool]

    def answer(self, granted: bool) -> None:
        """Tell the waiting call, in whichever loop it waits."""
        # The loop may have closed: then nobody waits any more.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_set, self.answered, granted)


def _set(answered: asyncio.Future[bool], granted: bool) -> None:
    if not answered.done():
        answered.set_result(granted)


@dataclass
class Payment:
    """The money of one attempt at a call: what it came to."""

    cost_usd: float = 0.0
    """At most, where that is not known; 0 where nothing can be charged."""


@dataclass(frozen=True)
class Money:
    """How a purse stands."""

    spent_usd: float
    """By calls that ended."""
    held_usd: float
    """By calls in flight, at most."""
    waiting: tuple[Ask, ...]
    """Calls that wait for money, first come first; of very many only the first."""


class Purse:
    """What calls of this process have spent, may still spend, and wait for."""

    def __init__(self, ask_soon: Callable[[], None]) -> None:
        """Call `ask_soon` when there is something new to ask the coordinator for."""
        self._ask_soon = ask_soon
        self._lock = threading.Lock()
        self._waiting: list[Ask] = []
        self._spent_usd = 0.0
        self._held: set[Ask] = set()
        self._is_out_of_reach = False

    @asynccontextmanager
    async def holding(self, usd: float, seconds: float | None = None) -> AsyncIterator[Payment]:
        """Set `usd` aside for the length of the block, once there is so much.

        The block notes in what it yields what the call did cost. It is waited for so many
        `seconds` at most; None: as long as the caller does.

        Raises:
            BudgetExhausted: so much is not left of the run's money; nothing was set aside.
            MoneyHeld: other calls held it for too long, or nobody could be asked for it.
        """
        loop = asyncio.get_running_loop()
        ask = Ask(usd, loop, loop.create_future())
        with self._lock:
            self._waiting.append(ask)
        self._ask_soon()
        try:
            async with asyncio.timeout(seconds):
                granted = await ask.answered
        except TimeoutError:
            self._withdraw(ask)
            raise self.held_for(seconds or 0.0) from None
        except BaseException:
            self._withdraw(ask)
            raise
        if not granted:
            raise BudgetExhausted(
                f"the run's money is used up: the next call may cost {usd:.4f} USD and less is "
                "left; resume with a higher --max-usd, or start a new run where the cost of "
                "earlier calls is unknown"
            )
        payment = Payment()
        try:
            yield payment
        finally:
            with self._lock:
                self._held.discard(ask)
                self._spent_usd += payment.cost_usd
            self._ask_soon()

    def state(self) -> "Money":
        """Return how things stand now."""
        with self._lock:
            waiting = tuple(self._waiting[:_ASKED_AT_ONCE])
            held = math.fsum(ask.usd for ask in self._held)
            return Money(self._spent_usd, held, waiting)

    def hear(self, asked: Sequence[Ask], granted: int, refused: bool) -> None:
        """Take in the answer to what was `asked`: how many of them are granted, and the next."""
        with self._lock:
            self._is_out_of_reach = False
            for ask in asked[:granted]:
                # One that was withdrawn meanwhile needs nothing any more.
                if ask in self._waiting:
                    self._waiting.remove(ask)
                    self._held.add(ask)
                    ask.answer(granted=True)
            if not refused or granted >= len(asked):
                return
            too_much = asked[granted].usd
            for ask in [ask for ask in self._waiting if ask.usd >= too_much]:
                self._waiting.remove(ask)
                ask.answer(granted=False)

    def hear_nothing(self) -> None:
        """Take in that the coordinator could not be asked."""
        with self._lock:
            self._is_out_of_reach = True

    def held_for(self, seconds: float) -> MoneyHeld:
        """Return the error of a call that has waited for so long, with what is known of it now."""
        if self._is_out_of_reach:
            return MoneyHeld(
                f"there was no money for the call within {seconds:.0f} s: the run's coordinator, "
                "which grants it, is out of reach; see to the Dask scheduler and resume"
            )
        return MoneyHeld(
            f"other calls of the run held its money for {seconds:.0f} s; allow it more time or a "
            "higher --max-usd"
        )

    def _withdraw(self, ask: Ask) -> None:
        with self._lock:
            if ask in self._waiting:
                self._waiting.remove(ask)
            self._held.discard(ask)
        self._ask_soon()
