"""Stores the calls of many trials in batches, so that no event loop waits for the database."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from environments.sandbox.shielding import to_the_end
from taskdata.schema.model_call import ModelCall

if TYPE_CHECKING:
    # SQLModel takes a second to import, and the process of an MCP server needs no store.
    from taskdata.store.calls import CallStore


class CallRecorder:
    """Writes and finds model calls: while one transaction runs, the next batch is collected.

    However its block ends, all calls given to it are stored.
    """

    def __init__(self, store: "CallStore") -> None:
        self._store = store
        self._waiting: list[tuple[Sequence[ModelCall], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        # A thread of its own, because the default threads are busy with the work of trials.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="calls")
        self._has_ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await to_the_end(self.close())

    async def find(self, shared_key: str) -> ModelCall | None:
        """Return the call whose reply is shared under `shared_key`, or None.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        return await asyncio.to_thread(self._store.shared_call, shared_key)

    async def record(self, *calls: ModelCall) -> None:
        """Return once the calls are stored; they are stored even if the caller is cancelled.

        Raises:
            StoreUnavailable: the store cannot be written.
        """
        await asyncio.shield(self.record_soon(*calls))

    def record_soon(self, *calls: ModelCall) -> asyncio.Future[None]:
        """Start storing the calls; the future is done when they are stored."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((calls, stored))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return stored

    async def close(self) -> None:
        """Return once all calls given to the recorder are stored."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
        # A task that was cancelled before its first step has written nothing.
        await self._write()
        self._has_ended = True
        self._thread.shutdown(wait=False)

    async def _write(self) -> None:
        """Store all pending calls, even if this task is cancelled: they are paid for."""
        cancelled: asyncio.CancelledError | None = None
        while self._waiting:
            batch, self._waiting = self._waiting, []
            calls = [call for together, _ in batch for call in together]
            # Not a task, because the end of the loop cancels all tasks.
            loop = asyncio.get_running_loop()
            # A trial that was abandoned may still pay for a call after `close`.
            thread = None if self._has_ended else self._thread
            storing = loop.run_in_executor(thread, self._store.record_calls, calls)
            while not storing.done():
                try:
                    await asyncio.wait({storing})
                except asyncio.CancelledError as error:
                    cancelled = error
            fault = storing.exception()
            for _, stored in batch:
                if fault is None:
                    stored.set_result(None)
                else:
                    stored.set_exception(fault)
        self._writing = None
        if cancelled is not None:
            raise cancelled
