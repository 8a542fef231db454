"""How many calls at a time a provider is known to put up with.

It starts low, grows by one with each answer until the provider first says "too many", is halved
then, and grows by one per window of answers from there: AIMD (Chiu and Jain 1989) with the slow
start of TCP (RFC 5681 §3.1).
"""

from pydantic import Field

from taskdata.schema.base import Value

START_CONCURRENCY = 16.0

_DECREASE = 0.5


class Window(Value):
    """Calls at a time, and how far the search for the right number has come."""

    size: float = Field(default=START_CONCURRENCY, ge=1, allow_inf_nan=False)
    is_starting: bool = True
    """Neither the provider nor a configured limit has said yet that it is enough."""
    decreases: int = Field(default=0, ge=0)
    """So often it was halved. A refusal is news only of a call that began after the last time."""

    def grown(self, answers: int, most: float) -> "Window":
        """Return it after so many answers to calls that needed all of it; never above `most`."""
        step = answers if self.is_starting else answers / self.size
        return self.model_copy(update={"size": self.size + step}).within(most)

    def halved(self) -> "Window":
        """Return it after a refusal that was news."""
        size = max(1.0, self.size * _DECREASE)
        return Window(size=size, is_starting=False, decreases=self.decreases + 1)

    def within(self, most: float) -> "Window":
        """Return it, or the largest that a limit allows; `most` is at least 1."""
        if self.size < most:
            return self
        return Window(size=most, is_starting=False, decreases=self.decreases)
