"""What a model is told whose replies cannot be used: worded anew, and not for ever."""

MOST_ALIKE = 3
"""Replies in a row with the same fault; the last of them ends the trial."""


class Corrections:
    """Counts replies in a row with the same fault."""

    def __init__(self) -> None:
        self._fault = ""
        self._count = 0

    def next(self, fault: str, first: str, again: str) -> str | None:
        """Return what to answer to a reply with this fault; None: the agent is stuck.

        Args:
            fault: What is wrong, by which replies are alike.
            first: The answer to the first reply of the kind.
            again: The answer to the second, which has not understood the first.
        """
        self._count = self._count + 1 if fault == self._fault else 1
        self._fault = fault
        if self._count >= MOST_ALIKE:
            return None
        return first if self._count == 1 else again

    def clear(self) -> None:
        """Forget what was counted: a reply could be used."""
        self._count = 0

    @property
    def cause(self) -> str:
        """Why the trial ends where the agent is stuck."""
        return (
            f"The agent is stuck: {self._count} replies in a row had the same fault, though it was "
            f"told each time what to write instead. {self._fault}"
        )
