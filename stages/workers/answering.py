"""A model client for work on a trial that tells the backlog that its provider answers."""

from collections.abc import Callable
from dataclasses import dataclass

from environments.ports import ModelClient, ModelReply, ModelRequest


@dataclass(frozen=True)
class ReportingClient:
    """A client that reports each reply; it does not own the client that it wraps."""

    client: ModelClient
    answered: Callable[[], None]

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the client's reply after reporting it; the errors are those of the client."""
        reply = await self.client.reply(request)
        self.answered()
        return reply

    async def close(self) -> None:
        """Do nothing: the client is shared."""
