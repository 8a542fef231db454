"""The model calls of one piece of work: those it has paid for before, and new ones.

An attempt at a trial that is cut short (a killed worker, a failed sandbox) leaves its calls in the
store. The next attempt sends the same requests in the same order as long as nothing else differs,
and is answered from these calls; from the first new request on, it calls the model.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from environments.models.money.budget import Spending
from environments.models.record.recorder import CallRecorder
from environments.ports import ModelReply
from taskdata.schema.model_call import NO_REPLY, CallPurpose, ModelCall
from taskdata.schema.usage import FailedAttempt, Usage


@dataclass(frozen=True)
class Payer:
    """The piece of work that pays for model calls."""

    purpose: CallPurpose
    owner: str
    """Name of the work, such as a trial's id; identifies shared replies that it has paid for."""
    trial_id: str | None = None
    """The trial that is charged; None: a refresh, or nobody."""
    attempt: int = 0
    """The attempt at the trial, from 1; 0 if no attempt is charged."""
    refresh_id: str | None = None
    """The refresh that is charged."""

    @classmethod
    def trial(
        cls, trial_id: str, attempt: int = 0, purpose: CallPurpose = CallPurpose.AGENT
    ) -> "Payer":
        """Return the payer of calls about a trial."""
        return cls(purpose, trial_id, trial_id, attempt)


class CallLog:
    """Replays the earlier calls of one piece of work and records its new ones."""

    def __init__(
        self, recorder: CallRecorder, payer: Payer, earlier: Sequence[ModelCall] = ()
    ) -> None:
        """Record calls for `payer`; `earlier` are its calls whose replies are stored, in order."""
        self.recorder = recorder
        self.payer = payer
        self._earlier: dict[str, deque[ModelCall]] = defaultdict(deque)
        for call in earlier:
            if call.reply is not None:
                self._earlier[call.key].append(call)

    def replay(self, key: str) -> ModelCall | None:
        """Return the next unused earlier call with that request; None if there is none."""
        calls = self._earlier.get(key)
        return calls.popleft() if calls else None

    async def record(
        self,
        key: str,
        reply: ModelReply,
        stored: dict[str, Any] | None,
        at_most: Spending,
        shared_key: str | None = None,
    ) -> None:
        """Store a call; it is stored even if the caller is cancelled in the meantime.

        What failed attempts at the call may cost is stored with it.

        Args:
            key: Hash of the request.
            reply: The answer, with its usage and failed attempts.
            stored: The reply as JSON; None: it cannot be replayed.
            at_most: Upper bound of what the call has used, for what the provider does not report.
            shared_key: Key under which other work finds the reply; None: it is not shared.

        Raises:
            StoreUnavailable: the store cannot be written.
        """
        call = self._call(
            key,
            reply.model,
            reply.usage,
            reply.cost_usd,
            shared_key=shared_key,
            tokens_at_most=at_most.tokens if reply.usage.total == 0 else None,
            cost_at_most_usd=at_most.usd if reply.cost_usd is None else None,
            reply=stored,
        )
        failed = self._failed(key, reply.failed_attempts, at_most)
        await self.recorder.record(*failed, call)

    def record_failed(
        self, key: str, failed: Sequence[FailedAttempt], at_most: Spending
    ) -> asyncio.Future[None] | None:
        """Start storing what failed attempts may cost; None if they cost nothing.

        The future is done once it is stored, or fails with `StoreUnavailable`.
        """
        calls = self._failed(key, failed, at_most)
        return self.recorder.record_soon(*calls) if calls else None

    def _failed(
        self, key: str, failed: Sequence[FailedAttempt], at_most: Spending
    ) -> tuple[ModelCall, ...]:
        costs = [each.cost_at_most_usd for each in failed if each.cost_at_most_usd != 0]
        if not costs:
            return ()
        known = [usd for usd in costs if usd is not None]
        charged = sum(known) if len(known) == len(costs) else None
        tokens = len(costs) * at_most.tokens
        return (self._call(key, NO_REPLY, Usage(), charged, tokens_at_most=tokens),)

    def _call(
        self, key: str, model: str, usage: Usage, cost_usd: float | None, **known: Any
    ) -> ModelCall:
        payer = self.payer
        return ModelCall(
            purpose=payer.purpose,
            trial_id=payer.trial_id,
            attempt=payer.attempt,
            refresh_id=payer.refresh_id,
            key=key,
            model=model,
            usage=usage,
            cost_usd=cost_usd,
            at=datetime.now(UTC),
            **known,
        )
