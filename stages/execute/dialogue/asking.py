"""One call of the agent's model: paid from the trial's budget, and what fails is on record."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from environments.models.faults import NoAnswerInTime
from environments.models.retry import is_hung
from environments.ports import ModelClient, ModelReply, ModelRequest
from stages.execute.dialogue.budget import HarnessBudget
from stages.execute.dialogue.journal import Journal
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable
from taskdata.schema.transcript import Ending

MAX_REPLY_SECONDS = 3600.0
"""Longest wait for one reply with all its retries, even if the trial has more time left: no model
thinks longer, so a longer wait is the provider's fault."""


@dataclass(frozen=True)
class TrialModel:
    """The agent's model in one trial; whoever asks it records the replies."""

    client: ModelClient
    meter: HarnessBudget
    journal: Journal

    async def reply(self, request_within: Callable[[float], ModelRequest]) -> ModelReply | Ending:
        """Return the model's reply, which is counted, or the limit that allows none.

        Args:
            request_within: Makes the request, from how many seconds its reply may take.

        Raises:
            ModelRejected: the provider refuses the request.
            ModelUnavailable: the provider does not answer, or its failures have used up the money.
            BudgetExhausted: the run's money is used up.
        """
        if (ending := self.meter.exhausted()) is not None:
            return ending
        seconds = min(MAX_REPLY_SECONDS, self.meter.seconds_left)
        async with self.meter.reserved(request_within(seconds)) as request:
            if isinstance(request, Ending):
                return request
            try:
                reply = await self.client.reply(request)
            except (ModelRejected, ModelUnavailable, BudgetExhausted) as exc:
                self.meter.count_failed(exc.failed_attempts)
                self.journal.no_reply(exc.failed_attempts)
                if self._is_slow(exc, seconds):
                    return Ending.OUT_OF_TIME
                raise
            except asyncio.CancelledError:
                self.journal.no_reply(request.failed)
                raise
            self.meter.count(request, reply)
            return reply

    def _is_slow(self, fault: Exception, seconds: float) -> bool:
        """Return whether no attempt failed: the model is slow, and the trial's own time is up."""
        own_time = isinstance(fault, NoAnswerInTime) and seconds < MAX_REPLY_SECONDS
        return own_time and not is_hung(seconds, self.journal.slowest_reply_seconds)
