"""The waiting trials of one model provider, behind a circuit breaker.

After `TRIALS_IN_A_ROW` trials that ended without a single reply the circuit breaker opens: the
provider's trials are begun one at a time, as probes, until one is answered. A probe takes a slot
from other providers, so probes are rarer while other providers' trials wait.
"""

from collections import deque
from dataclasses import dataclass

NO_MODEL = "no model"
"""Stands for agents without a model; the circuit breaker never opens for it."""
TRIALS_IN_A_ROW = 5
"""So many without a reply open the circuit breaker."""
SECONDS_BETWEEN_PROBES = 60.0
"""After the last trial ended, while no other provider's trials are waiting."""
SECONDS_BETWEEN_PROBES_BESIDE_OTHERS = 1800.0
"""After the last trial ended, while trials of other providers wait for a slot."""
SILENT_SECONDS = 1800.0
"""An outage must last this long before the provider's trials are given up."""
_MOST_PROBES = 2


@dataclass
class ProviderQueue:
    """The trials of one provider; all times come from one monotonic clock, in seconds."""

    name: str
    waiting: deque[str]
    begun: int = 0
    """Trials in flight."""
    served: int = 0
    """Sequence number of the last slot that it was given."""
    unanswered: int = 0
    """Trials in a row that ended without a reply."""
    _silent_since: float = 0.0
    """When the first of those ended."""
    _ended_at: float = 0.0
    """When its last trial ended."""
    _probe: str | None = None
    _failed_probes: int = 0

    @property
    def is_in_doubt(self) -> bool:
        """Whether the circuit breaker is open, so that only probes are begun."""
        return self.unanswered >= TRIALS_IN_A_ROW

    @property
    def silence(self) -> str:
        """Why the provider's trials are given up, on one line."""
        return (
            f"provider {self.name} did not answer {self.unanswered} trials in a row; this trial "
            "was not begun and is still due"
        )

    def answer(self) -> None:
        """Note a reply, which closes the circuit breaker."""
        self.unanswered, self._failed_probes, self._probe = 0, 0, None

    def miss(self, trial_id: str, now: float) -> None:
        """Note that a trial ends without a reply."""
        if self.name == NO_MODEL:
            return
        if not self.unanswered:
            self._silent_since = now
        self.unanswered += 1
        self._failed_probes += trial_id == self._probe

    def begin(self, at: int) -> str:
        """Return the next trial, which now has the slot with sequence number `at`."""
        trial_id = self.waiting.popleft()
        self.begun += 1
        self.served = at
        self._probe = trial_id if self.is_in_doubt else None
        return trial_id

    def end(self, now: float) -> None:
        """Note that a trial has left its slot."""
        self.begun -= 1
        self._ended_at = now

    def may_begin(self, now: float, others_wait: bool) -> bool:
        """Return whether the next trial may be begun now."""
        if not self.is_in_doubt:
            return True
        pause = SECONDS_BETWEEN_PROBES_BESIDE_OTHERS if others_wait else SECONDS_BETWEEN_PROBES
        return not self.begun and now >= self._ended_at + pause

    def is_lost(self, now: float) -> bool:
        """Return whether enough probes failed, over a long enough time, to give the trials up."""
        silent = now - self._silent_since >= SILENT_SECONDS
        return self.is_in_doubt and silent and self._failed_probes >= _MOST_PROBES
