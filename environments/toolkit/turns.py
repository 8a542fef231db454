"""What tools can see of the agent's conversation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class TurnSize:
    """One turn of the model in its context: its reply, and the results of its calls."""

    number: int
    """Counted from 1 over the whole trial; dropping turns does not renumber the others."""
    chars: int


class AgentContext(Protocol):
    """The context of an agent's model; the task is not a turn and always stays."""

    @property
    def window_tokens(self) -> int | None:
        """Longest input of the model; None: unknown."""
        ...

    def turns(self) -> Sequence[TurnSize]:
        """Return the turns in order; the last is the current one."""
        ...

    def input_tokens(self) -> int | None:
        """Return about how many tokens the next request has; None if tokens are not counted."""
        ...

    def turns_left(self) -> int:
        """Return how many more turns the budget allows."""
        ...

    def drop(self, numbers: Collection[int]) -> int:
        """Remove whole turns, both calls and results; return how many characters they had.

        The current turn always stays.
        """
        ...
