"""What tools see of the conversation that an agent is in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class TurnSize:
    """One turn of the model in its context: its reply, and the results it asked for."""

    number: int
    """Counted from 1 over the whole trial; dropping turns renumbers none."""
    chars: int


class AgentContext(Protocol):
    """What a model has before it; the task is no turn and always stays."""

    @property
    def window_tokens(self) -> int | None:
        """Longest input of the model; None: unknown."""
        ...

    def turns(self) -> Sequence[TurnSize]:
        """Return the turns in order; the last is the current one."""
        ...

    def input_tokens(self) -> int | None:
        """Return about how many tokens the next request has; None: nobody counts them."""
        ...

    def turns_left(self) -> int:
        """Return how many more turns the budget allows."""
        ...

    def drop(self, numbers: Collection[int]) -> int:
        """Take whole turns out, calls and results alike; returns how many characters they had.

        The current turn stays, whatever is asked.
        """
        ...
