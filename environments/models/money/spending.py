"""A cap on what the calls of one client may use together, and the bounds of a single call.

A call that fits only once other calls have settled waits for them; a call that can no longer fit is
refused. A failed attempt that may be charged counts with its upper bound, and a retry needs a
reservation of its own.
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
from environments.ports import Media, Message, ModelClient, ModelReply, ModelRequest, Opening
from taskdata.errors import BudgetExhausted, Misuse, NightshiftError
from taskdata.schema.construct import SpendingLimits
from taskdata.schema.transcript import Usage
from taskdata.schema.usage import FailedAttempt

_TOKENS_AROUND_MESSAGE = 16
"""Tokens of role, name and separators in the provider's template."""
_BOUND = "token bound"
_TOOL_SETS = ToolSets(lambda tool: tool.model_dump(mode="json"))


class SpendingCap:
    """A `ModelClient` that makes no call that could exceed the limits."""

    def __init__(
        self,
        client: ModelClient,
        limits: SpendingLimits,
        price: Price | None,
        spent: Spending | None = None,
    ) -> None:
        """Cap `client`, of which `spent` was used before; `price` is the price of its model.

        Raises:
            Misuse: there is a limit in money, but the price is unknown.
            BudgetExhausted: there is a limit in money, but what was spent is unknown.
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
        """What was used, without calls in flight."""
        return self._budget.spent

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's answer.

        Raises:
            BudgetExhausted: the call could exceed a limit; it was not made.
            Misuse: the price of so long a request is unknown, and there is a limit in money.
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
        # Reserve money for a retry as well, unless that would delay other calls.
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
    """Check that a limit in money can be enforced.

    Raises:
        Misuse: there is a limit in money, but the price is unknown.
    """
    if limits.max_usd is not None and price is None:
        raise Misuse(
            f"max_usd = {limits.max_usd:g}: the price of this model is unknown, so no limit in "
            "money can be held; remove max_usd and limit max_tokens instead"
        )


def call_bound(request: ModelRequest, price: Price | None) -> Spending:
    """Return the most that one call can use.

    A token has at least one byte of UTF-8, so the size of the request bounds its tokens.
    """
    read = _input_bound(request)
    return Spending(1, read + request.max_tokens, cost_bound(read, request.max_tokens, price))


def longest_reply(request: ModelRequest, price: Price | None, usd: float) -> int:
    """Return the longest reply, in tokens, with which the call costs at most `usd`.

    At most the request's `max_tokens`; 0 if even an empty reply could cost more, or if the price of
    so long a request is unknown.
    """
    read, longest = _input_bound(request), request.max_tokens
    least, most = cost_bound(read, 0, price), cost_bound(read, longest, price)
    if least is None or most is None or least > usd:
        return 0
    if most <= usd:
        return longest
    fits = int((usd - least) / (most - least) * longest)
    # Rounding must not push the cost above the limit.
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
    """Return the most tokens of a message; cached, because conversations grow by appending."""
    known = message.wire.get(_BOUND)
    if known is None:
        parts = [message.text, *(call.raw for call in message.tool_calls)]
        if message.replay:
            parts.append(json.dumps(message.replay))
        shown = sum(_media_tokens(media) for media in message.media)
        said = sum(len(part.encode("utf-8", "replace")) for part in parts)
        begun = 0 if message.opening is None else _opening_bound(message.opening)
        known = message.wire[_BOUND] = b"%d" % (_TOKENS_AROUND_MESSAGE + said + shown + begun)
    return int(known)


def _opening_bound(opening: Opening) -> int:
    known = opening.wire.get(_BOUND)
    if known is None:
        said = len(opening.text.encode("utf-8", "replace"))
        shown = sum(_media_tokens(media) for media in opening.media)
        around = _TOKENS_AROUND_MESSAGE * len(opening.pieces)
        known = opening.wire[_BOUND] = b"%d" % (around + said + shown)
    return int(known)


def _media_tokens(media: Media) -> int:
    if media.most_tokens is not None:
        return media.most_tokens
    if media.media_type.startswith("image/"):
        return PICTURE_TOKENS
    encoded = -(-len(media.data) // 3) * 4
    return encoded + (page_tokens(media.data) if media.media_type == "application/pdf" else 0)


def cost_bound(input_tokens: int, output_tokens: int, price: Price | None) -> float | None:
    """Return the most that these tokens cost in USD; None if the price is unknown."""
    if price is None:
        return None
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    plain = price.cost_usd(usage)
    written = price.cost_usd(usage.model_copy(update={"cache_write_tokens": input_tokens}))
    return None if plain is None or written is None else max(plain, written)


def _used(reply: ModelReply, bound: Spending) -> Spending:
    """Return what a call used, or its upper bound if the server reports no usage."""
    if reply.usage.total == 0:
        return bound
    usd = bound.usd if reply.cost_usd is None else reply.cost_usd
    return Spending(1, reply.usage.total, usd)


def _charged(failed: Sequence[FailedAttempt], bound: Spending) -> Spending:
    """Return the most that failed attempts used, if they may be charged."""
    costs = [attempt.cost_at_most_usd for attempt in failed if attempt.cost_at_most_usd != 0]
    return total(Spending(tokens=bound.tokens, usd=usd) for usd in costs)
