"""Several servers of one local model as one model: the one with least to do is asked."""

import asyncio
from collections.abc import Sequence

from environments.ports import ModelClient, ModelReply, ModelRequest


class Copies:
    """A model client for the servers of one model, one per core."""

    def __init__(self, clients: Sequence[ModelClient]) -> None:
        self._clients = tuple(clients)
        self._open = [0] * len(self._clients)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the answer of the server with the fewest open requests; raises as it does."""
        place = self._open.index(min(self._open))
        self._open[place] += 1
        try:
            return await self._clients[place].reply(request)
        finally:
            self._open[place] -= 1

    async def close(self) -> None:
        """Close the connections to every server."""
        await asyncio.gather(*(client.close() for client in self._clients))
