"""The limits of one worker process, dealt out by the run's coordinator.

A thread of its own exchanges a word with the coordinator a few times a second while there are
calls, and at once when a share is used up that grows fast, or was refused. Callers never wait for
it, except the first ones, which know no share yet. When the coordinator is out of reach the last
shares hold; a refusal still halves them, and they grow back to what they were. Money is granted
call by call, so under a cap no new call is made then.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager

from environments.models.limits.coordinator import EXCHANGE_SECONDS, Answer, Word
from environments.models.limits.local import LocalLimiter
from environments.models.limits.purse import Purse
from environments.models.limits.seam import Slot, Want

Exchange = Callable[[Word], Answer]
"""Carries a word to the coordinator and its answer back; blocks, and raises when it cannot."""

_LEAST_SECONDS_BETWEEN_WORDS = 0.02

_logger = logging.getLogger(__name__)


class SharedLimiter:
    """A `Limiter` that keeps to the worker's shares, and the worker's part of the run's money."""

    def __init__(
        self,
        worker: str,
        exchange: Exchange,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Speak to the coordinator as `worker`, a name that no other process of the run has."""
        self._process = worker
        self._worker = worker
        self._times = 0
        self._users = 0
        self._lock = threading.Lock()
        self._speaker: threading.Thread | None = None
        self.exchange = exchange
        """The way to the coordinator; may be changed while nothing is running."""
        self._news = threading.Event()
        self._local = LocalLimiter(clock=clock, tell_soon=self._news.set)
        self._ended = threading.Event()
        self._is_idle = True
        self._is_out_of_reach = False
        self.purse = Purse(self._news.set)

    def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AbstractAsyncContextManager[Slot]:
        """Hold one of the provider's slots; see `Limiter`."""
        return self._local.slot(provider, estimated_tokens, seconds)

    @contextmanager
    def running(self) -> Iterator["SharedLimiter"]:
        """Speak to the coordinator for the length of the block, and once more at its end.

        What was learned of the providers stays from block to block; money does not: each time it
        is another worker with a purse of its own, for the coordinator may be another, too.
        """
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._begin()
        try:
            yield self
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._speaker is not None:
                    self._ended.set()
                    self._news.set()
                    self._speaker.join()

    def _begin(self) -> None:
        self._times += 1
        self._worker = f"{self._process}/{self._times}"
        self.purse = Purse(self._news.set)
        self._ended.clear()
        self._speaker = threading.Thread(target=self._speak_on, name="limits", daemon=True)
        self._speaker.start()

    def _speak_on(self) -> None:
        while not self._ended.is_set():
            # Without calls there is nothing to say; with some, pauses and turns pass by themselves.
            self._news.wait(None if self._is_idle else EXCHANGE_SECONDS)
            self._news.clear()
            self._speak()
            self._ended.wait(_LEAST_SECONDS_BETWEEN_WORDS)
        self._speak()

    def _speak(self) -> None:
        money, wants = self.purse.state(), self._local.wants()
        word = Word(
            worker=self._worker,
            wants=wants,
            spent_usd=money.spent_usd,
            held_usd=money.held_usd,
            asks_usd=tuple(ask.usd for ask in money.waiting),
        )
        try:
            answer = self.exchange(word)
        # Whatever carries the word: the calls go on as they were last allowed to.
        except Exception as exc:  # noqa: BLE001
            if not self._is_out_of_reach:
                _logger.warning("the limits' coordinator is out of reach: %s", exc)
            self._is_out_of_reach = True
            self._is_idle = False
            self.purse.hear_nothing()
            return
        self._is_out_of_reach = False
        for provider, share in answer.shares.items():
            self._local.deal(provider, share, wants[provider])
        self.purse.hear(money.waiting, answer.granted, answer.refused)
        # Idle only once it has said so: until then its share is nobody else's.
        self._is_idle = not (money.waiting or money.held_usd or _some(wants))
        if self._is_idle and _some(self._local.wants()):
            self._is_idle = False


_limiters: dict[str, SharedLimiter] = {}


def run_limiter(run_id: str, exchange: Exchange) -> SharedLimiter:
    """Return this process's limiter for a run, which knows what earlier batches have learned."""
    if run_id not in _limiters:
        _limiters[run_id] = SharedLimiter(f"{socket.gethostname()}/{os.getpid()}", exchange)
    _limiters[run_id].exchange = exchange
    return _limiters[run_id]


def _some(wants: Mapping[str, Want]) -> bool:
    return any(want.calls for want in wants.values())
