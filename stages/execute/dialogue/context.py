"""What to leave out when a conversation outgrows the model's context.

The opening (instructions, examples, task) stays as it is; the oldest turns go first, then the
longest text of the newest turn is cut. Windows and tokenizers differ, so this is asked for when a
provider says that a conversation is too long, not guessed beforehand.
"""

from collections.abc import Sequence
from dataclasses import replace

from environments.ports import Message

_SHORTEST = 400
_MARK = "\n[... {count} characters left out ...]\n"


def shortened(messages: Sequence[Message], opening: int) -> tuple[list[Message], str] | None:
    """Return a shorter conversation and what was left out; None if nothing may be.

    Args:
        messages: The conversation.
        opening: How many of its first messages must stay.
    """
    head, tail = list(messages[:opening]), list(messages[opening:])
    starts = [i for i, message in enumerate(tail) if message.role == "assistant"]
    if len(starts) > 1:
        # Half of the turns at a time: one at a time would cost a rejected call each.
        dropped = (len(starts) + 1) // 2
        first = starts[min(dropped, len(starts) - 1)]
        return head + tail[first:], f"the oldest {first} messages after the task"
    longest = max(range(len(tail)), key=lambda i: len(tail[i].text), default=None)
    if longest is None or len(tail[longest].text) <= _SHORTEST:
        return None
    message = tail[longest]
    tail[longest] = replace(message, text=_halved(message.text))
    return head + tail, f"half of a {message.role} message of {len(message.text)} characters"


def _halved(text: str) -> str:
    """Return the first and last quarter, with a mark between that says what is missing."""
    quarter = len(text) // 4
    mark = _MARK.format(count=len(text) - 2 * quarter)
    return text[:quarter] + mark + text[-quarter:]
