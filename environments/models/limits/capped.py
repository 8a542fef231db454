"""A client that makes no call for which there may not be money enough."""

import asyncio

from environments.models.faults import NoAnswerInTime
from environments.models.limits.purse import Purse
from environments.models.money.prices import Price
from environments.models.money.spending import call_bound
from environments.ports import ModelClient, ModelReply, ModelRequest
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec


class CappedClient:
    """A `ModelClient` whose calls are paid for from a purse."""

    def __init__(
        self, client: ModelClient, spec: ModelSpec, price: Price | None, purse: Purse
    ) -> None:
        """Pay for calls of `client`, whose model has that price.

        Raises:
            Misuse: The price is unknown, so no cap could be held.
        """
        if price is None:
            raise Misuse(
                f"max_usd: the price of {spec} is unknown, so a limit in money cannot be held; "
                "add it to the price table or leave the limit out"
            )
        self._client = client
        self._spec = spec
        self._price = price
        self._purse = purse

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer, once there is money for the most that it may cost.

        Raises:
            BudgetExhausted: So much is not left of the run's money; the call was not made.
            ModelUnavailable: There was none in time, as other calls held it.
            Misuse: The price of so long a request is unknown.
        """
        bound = call_bound(request, self._price).usd
        if bound is None:
            raise Misuse(f"max_usd: the price of so long a request to {self._spec} is unknown")
        if bound == 0:
            return await self._client.reply(request)
        async with self._purse.holding(bound, request.timeout_seconds) as payment:
            try:
                reply = await self._client.reply(request)
            except (NoAnswerInTime, asyncio.CancelledError):
                # The provider may have worked on it, and bill it.
                payment.cost_usd = bound
                raise
            payment.cost_usd = bound if reply.cost_usd is None else reply.cost_usd
        return reply

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()
