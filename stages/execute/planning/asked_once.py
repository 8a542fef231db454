"""A model client whose equal requests are made one after the other, so that one of them is paid.

Trials that are planned from one draft begin at the same time, in several processes. Each would ask
for the draft, because a recorded reply is only found once there is one. Here whoever comes first
asks, and the others wait for the record.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from environments.models.record.client import RecordedClient
from environments.ports import ModelReply, ModelRequest
from environments.sandbox.shielding import to_the_end
from taskdata.private_files import private_folder
from taskdata.store import Store

_SECONDS_BETWEEN_TRIES = 0.2
_NAME_CHARS = 2
"""Of a request's key in the name of its lock file: requests that share a file wait for each other
without need, and there are never more than 256 files."""


class AskedOnce:
    """The `ModelClient` of requests that several trials share; it owns nothing.

    With a database server the locks are the server's, else they are files: an SQLite database is
    used by processes of one machine only. Both kinds are released however a process ends.
    """

    def __init__(self, client: RecordedClient, store: Store, home: Path) -> None:
        """Ask `client`; `home` is the state folder, where the lock files are."""
        self._client = client
        self._store = store
        self._home = home

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply, or that to an equal request; raises as `client` does."""
        began = time.monotonic()
        async with self._alone(self._client.shared_key(request)):
            waited = time.monotonic() - began
            reply = await self._client.reply(request)
        return replace(reply, waited_seconds=reply.waited_seconds + waited)

    async def close(self) -> None:
        """Do nothing: the wrapped client is shared."""

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        while True:
            held = ExitStack()
            enter = asyncio.to_thread(held.enter_context, self._lock(key))
            try:
                if await to_the_end(enter):
                    yield
                    return
            finally:
                await to_the_end(asyncio.to_thread(held.close))
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)

    def _lock(self, key: str) -> AbstractContextManager[bool]:
        if self._store.is_served:
            return self._store.hold(f"plan {key}")
        return _file_held(self._home, key)


@contextmanager
def _file_held(home: Path, key: str) -> Iterator[bool]:
    """Hold the key's lock file for the length of the block; yield False where another has it."""
    folder = home.resolve() / "locks"
    private_folder(home)
    private_folder(folder)
    lock = FileLock(
        folder / f"plan-{key[:_NAME_CHARS]}.lock", thread_local=False, fallback_to_soft=False
    )
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    with held:
        yield True
