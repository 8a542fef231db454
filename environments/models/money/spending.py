"""A cap on what the calls of a client may use together, and the most that one call can use.

A call that only others' reservations keep from fitting waits until they are settled; a call that
cannot fit any more is refused. A failed attempt that may be charged all the same counts as the most
that it can have used, and there is another one only if that was reserved, too.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from environments.models.money.budget import (
    AwaitedBudget,
    LimitName,
    Reservation,
    Spending,
    total,
)
from environments.models.money.media import PICTURE_TOKENS, page_tokens
from environments.models.money.prices import Price
from environments.models.wire.writing import ToolSets
from environments.ports import Media, Message, ModelClient, ModelReply, ModelRequest
from taskdata.errors import BudgetExhausted, Misuse, NightshiftError
from taskdata.schema.construct import SpendingLimits
from taskdata.schema.transcript import Usage
from taskdata.schema.usage import FailedAttempt

_TOKENS_AROUND_MESSAGE = 16
"""Role, name and separators, as the provider's template writes them."""
_BOUND = "token bound"
_TOOL_SETS = ToolSets(lambda tool: tool.model_dump(mode="json"))


class SpendingCap:
    """A `ModelClient` that makes no call that could go beyond the limits."""

    def __init__(
        self,
        client: ModelClient,
        limits: SpendingLimits,
        price: Price | None,
        spent: Spending | None = None,
    ) -> None:
        """Cap `client`, of which `spent` was used before; `price` is its model's.

        Raises:
            Misuse: There is a limit in money and the price is unknown.
            BudgetExhausted: There is one, and what was spent is unknown.
        """
        require_price(limits, price)
        self._client = client
        self._limits = limits
        self._price = price
        self._budget = AwaitedBudget(limits.max_calls, limits.max_tokens, limits.max_usd, spent)
        if limits.max_usd is not None and self.spent.usd is None:
            raise BudgetExhausted(
                f"what {self.spent.calls} earlier calls cost is not known, so the limit of "
                f"{limits.max_usd:g} USD cannot be held; start a new refresh without max_usd"
            )

    @property
    def spent(self) -> Spending:
        """What was used, calls in flight not counted."""
        return self._budget.spent

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer.

        Raises:
            BudgetExhausted: The call could go beyond a limit; it was not made.
            Misuse: The price of so long a request is unknown, and there is a limit in money.
        """
        bound = call_bound(request, self._price)
        reservation = await self._reserve(bound)
        is_limited = self._limits.max_usd is not None
        asked = replace(request, max_usd=reservation.bound.usd if is_limited else None)
        used = Spending(calls=1)
        try:
            reply = await self._client.reply(asked)
            used = _used(reply, bound)
        finally:
            used = used + _charged(asked.failed, bound)
            self._budget.settle(reservation, used)
            request.failed.extend(asked.failed)
        return reply

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _reserve(self, bound: Spending) -> Reservation:
        while not self._budget.fits(bound):
            if (limit := self._budget.exceeded(bound)) is not None:
                raise self._refusal(limit, bound)
            await self._budget.settlement()
        # Money for a second attempt, where that is not at the cost of other calls.
        twice = bound + Spending(usd=bound.usd)
        return self._budget.reserve(twice) or self._budget.hold(Reservation(bound))

    def _refusal(self, limit: LimitName, bound: Spending) -> NightshiftError:
        limits, spent = self._limits, self.spent
        if limit == "usd" and (spent + bound).usd is None:
            return Misuse(
                "a call's price is not known (no price for so long a prompt, or the server "
                "reported no usage), so the limit in money cannot be held; remove max_usd"
            )
        most = {
            "calls": f"max_calls = {limits.max_calls}",
            "tokens": f"max_tokens = {limits.max_tokens}",
            "usd": f"max_usd = {limits.max_usd or 0.0:g}",
        }
        return BudgetExhausted(
            f"the next call may need {bound.tokens} tokens and would go beyond {most[limit]}; "
            f"used so far: {spent.calls} calls, {spent.tokens} tokens"
            + ("" if spent.usd is None else f", {spent.usd:.4f} USD")
        )


def require_price(limits: SpendingLimits, price: Price | None) -> None:
    """Check that a limit in money can be held.

    Raises:
        Misuse: There is one, and the price is unknown.
    """
    if limits.max_usd is not None and price is None:
        raise Misuse(
            f"max_usd = {limits.max_usd:g}: the price of this model is unknown, so no limit in "
            "money can be held; remove max_usd and limit max_tokens instead"
        )


def call_bound(request: ModelRequest, price: Price | None) -> Spending:
    """Return the most that one call can use.

    A token stands for at least one byte of UTF-8, so the request's bytes bound its tokens.
    """
    read = _input_bound(request)
    return Spending(1, read + request.max_tokens, cost_bound(read, request.max_tokens, price))


def longest_reply(request: ModelRequest, price: Price | None, usd: float) -> int:
    """Return how long a reply may be, in tokens, for the call to cost `usd` at most.

    At most the request's `max_tokens`; 0 where even an empty one could cost more, or the price of
    so long a request is unknown.
    """
    read, longest = _input_bound(request), request.max_tokens
    least, most = cost_bound(read, 0, price), cost_bound(read, longest, price)
    if least is None or most is None or least > usd:
        return 0
    if most <= usd:
        return longest
    fits = int((usd - least) / (most - least) * longest)
    # What was rounded must not cost more after all.
    while fits > 0 and (cost_bound(read, fits, price) or 0.0) > usd:
        fits -= 1
    return fits


def _input_bound(request: ModelRequest) -> int:
    read = _TOKENS_AROUND_MESSAGE + sum(_message_bound(message) for message in request.messages)
    read += sum(len(tool) for tool in _TOOL_SETS.json(request.tools))
    if request.json_schema is not None:
        read += len(json.dumps(request.json_schema))
    return read


def _message_bound(message: Message) -> int:
    """Return the most tokens that a message can be; counted once, for conversations grow."""
    known = message.wire.get(_BOUND)
    if known is None:
        parts = [message.text, *(call.raw for call in message.tool_calls)]
        if message.replay:
            parts.append(json.dumps(message.replay))
        shown = sum(_media_tokens(media) for media in message.media)
        said = sum(len(part.encode("utf-8", "replace")) for part in parts)
        known = message.wire[_BOUND] = b"%d" % (_TOKENS_AROUND_MESSAGE + said + shown)
    return int(known)


def _media_tokens(media: Media) -> int:
    if media.media_type.startswith("image/"):
        return PICTURE_TOKENS
    encoded = -(-len(media.data) // 3) * 4
    return encoded + (page_tokens(media.data) if media.media_type == "application/pdf" else 0)


def cost_bound(input_tokens: int, output_tokens: int, price: Price | None) -> float | None:
    """Return the most that these tokens cost in USD; None where the price is unknown."""
    if price is None:
        return None
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    plain = price.cost_usd(usage)
    written = price.cost_usd(usage.model_copy(update={"cache_write_tokens": input_tokens}))
    return None if plain is None or written is None else max(plain, written)


def _used(reply: ModelReply, bound: Spending) -> Spending:
    """Return what a call used; where the server does not say, what it used at most."""
    if reply.usage.total == 0:
        return bound
    usd = bound.usd if reply.cost_usd is None else reply.cost_usd
    return Spending(1, reply.usage.total, usd)


def _charged(failed: Sequence[FailedAttempt], bound: Spending) -> Spending:
    """Return what failed attempts at a call used at most, as far as they may be charged."""
    costs = [attempt.cost_at_most_usd for attempt in failed if attempt.cost_at_most_usd != 0]
    return total(Spending(tokens=bound.tokens, usd=usd) for usd in costs)
