"""What a backlog knows of one provider: its trials, and whether it answers at all.

A circuit breaker. After `TRIALS_IN_A_ROW` that ended without one answer the provider is in doubt:
its trials are begun one at a time, as probes, until one is answered. A probe costs others a slot,
so it is rarer while their trials wait.
"""

from collections import deque
from dataclasses import dataclass

NO_MODEL = "no model"
"""The provider of agents that ask no model: nobody who could answer, or fall silent."""
TRIALS_IN_A_ROW = 5
"""So many without an answer bring a provider into doubt."""
SECONDS_BETWEEN_PROBES = 60.0
"""Since the last one ended; a slot that nobody else wants is free for it."""
SECONDS_BETWEEN_PROBES_BESIDE_OTHERS = 1800.0
"""The same while trials of other providers wait for a slot."""
SILENT_SECONDS = 1800.0
"""A shorter outage is sat out, even if there is nothing else to do."""
_MOST_PROBES = 2


@dataclass
class ProviderQueue:
    """The trials of one provider; times are any rising seconds."""

    name: str
    waiting: deque[str]
    begun: int = 0
    """Its trials in slots now."""
    served: int = 0
    """When it was last given a slot."""
    unanswered: int = 0
    """Trials in a row that ended without an answer."""
    _silent_since: float = 0.0
    """When the first of them ended."""
    _ended_at: float = 0.0
    """When its last trial ended."""
    _probe: str | None = None
    _failed_probes: int = 0

    @property
    def is_in_doubt(self) -> bool:
        """Whether it has not answered so often that only probes are begun."""
        return self.unanswered >= TRIALS_IN_A_ROW

    @property
    def silence(self) -> str:
        """Why its trials are given up, on one line."""
        return (
            f"provider {self.name} did not answer {self.unanswered} trials in a row; this trial "
            "was not begun and is still due"
        )

    def answer(self) -> None:
        """Note that it has answered a trial: it is in doubt no more."""
        self.unanswered, self._failed_probes, self._probe = 0, 0, None

    def miss(self, trial_id: str, now: float) -> None:
        """Note that a trial is ending without an answer."""
        if self.name == NO_MODEL:
            return
        if not self.unanswered:
            self._silent_since = now
        self.unanswered += 1
        self._failed_probes += trial_id == self._probe

    def begin(self, at: int) -> str:
        """Give its next trial a slot, the `at`th of all."""
        trial_id = self.waiting.popleft()
        self.begun += 1
        self.served = at
        self._probe = trial_id if self.is_in_doubt else None
        return trial_id

    def end(self, now: float) -> None:
        """Take a trial out of its slot."""
        self.begun -= 1
        self._ended_at = now

    def may_begin(self, now: float, others_wait: bool) -> bool:
        """Return whether its next trial may have a slot now."""
        if not self.is_in_doubt:
            return True
        pause = SECONDS_BETWEEN_PROBES_BESIDE_OTHERS if others_wait else SECONDS_BETWEEN_PROBES
        return not self.begun and now >= self._ended_at + pause

    def is_lost(self, now: float) -> bool:
        """Return whether it was asked often enough, for long enough, to be given up."""
        silent = now - self._silent_since >= SILENT_SECONDS
        return self.is_in_doubt and silent and self._failed_probes >= _MOST_PROBES
