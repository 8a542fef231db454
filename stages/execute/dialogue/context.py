"""The messages sent to a model: the task, the turns (which may be dropped), the window size.

A turn is a reply and everything up to the next one, so a call is never separated from its result.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from environments.ports import Message
from environments.toolkit.turns import TurnSize
from taskdata.schema.usage import Usage

KEPT_TURNS = 10
"""How many turns are kept of a conversation that is too long (Toolathlon, appendix B)."""

_SHORTEST = 400
_CHARS_PER_TOKEN = 3
"""A low estimate for text and code; used only for text that the provider has not counted yet."""
_CHARS_PER_PICTURE = 1_500 * _CHARS_PER_TOKEN
"""What a picture of a result counts beside text: about its tokens at most providers."""
_MARK = "\n[... {count} characters left out ...]\n"
_NOT_SHOWN = "\n[The pictures of this result are not shown any more.]"


class ContextWindow:
    """Estimates the tokens of the next request; unknown if the provider reports no usage."""

    def __init__(self, tokens: int | None) -> None:
        self.tokens = tokens
        """Longest input of the model; None: unknown."""
        self._counted: tuple[int, int] | None = None

    def count(self, usage: Usage, chars: int) -> None:
        """Record the provider's token count for a request and its reply, together `chars` long."""
        if usage.input_tokens:
            self._counted = (usage.total, chars)

    def estimate(self, chars: int) -> int | None:
        """Return about how many tokens a conversation of `chars` has; None: unknown."""
        if self._counted is None:
            return None
        tokens, counted_chars = self._counted
        if chars < counted_chars:
            return tokens * chars // counted_chars
        return tokens + (chars - counted_chars) // _CHARS_PER_TOKEN

    def holds(self, chars: int, reply_tokens: int = 0) -> bool:
        """Whether a conversation and its reply fit, as far as that is known."""
        estimate = self.estimate(chars)
        return self.tokens is None or estimate is None or estimate + reply_tokens <= self.tokens

    def is_half_full(self, chars: int) -> bool:
        """Whether a conversation fills half of the window, as far as that is known."""
        estimate = self.estimate(chars)
        return self.tokens is not None and estimate is not None and 2 * estimate >= self.tokens


@dataclass
class _Turn:
    number: int
    messages: list[Message]
    chars: int

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.chars += _size(message)


class Context:
    """The opening and the turns of one conversation; message sizes are cached."""

    def __init__(self, opening: Sequence[Message]) -> None:
        self._opening = list(opening)
        self._turns: list[_Turn] = []
        self._number = 0
        self._messages = list(opening)
        self.chars = sum(map(_size, opening))
        """Characters of all messages."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation in the form in which it is sent."""
        return tuple(self._messages)

    @property
    def turns(self) -> tuple[TurnSize, ...]:
        """The turns in order; the last is the current one."""
        return tuple(TurnSize(turn.number, turn.chars) for turn in self._turns)

    def begin_turn(self, reply: Message) -> None:
        """Add a reply of the model."""
        self._number += 1
        self._turns.append(_Turn(self._number, [], 0))
        self.add(reply)

    def add(self, message: Message) -> None:
        """Add a message to the current turn."""
        self._turns[-1].add(message)
        self._messages.append(message)
        self.chars += _size(message)

    def replace_turn(self, messages: Sequence[Message]) -> None:
        """Replace the messages of the current turn."""
        self._turns[-1] = _Turn(self._number, list(messages), sum(map(_size, messages)))
        self._rebuild()

    def note(self, text: str) -> None:
        """Append a notice for the model to the newest message.

        A message of its own would break the alternation of roles, which some servers require.
        """
        messages = self._turns[-1].messages if self._turns else self._opening
        noted = replace(messages[-1], text=f"{messages[-1].text}\n\n[{text}]")
        more = _size(noted) - _size(messages[-1])
        messages[-1] = self._messages[-1] = noted
        self.chars += more
        if self._turns:
            self._turns[-1].chars += more

    def drop(self, numbers: Collection[int]) -> int:
        """Remove turns, but never the current one; return how many characters they had."""
        before = self.chars
        self._turns = [
            turn
            for turn in self._turns
            if turn.number not in numbers or turn.number == self._number
        ]
        self._rebuild()
        return before - self.chars

    def keep_newest(self, count: int = KEPT_TURNS) -> str | None:
        """Remove all but the newest turns; return a description, None if there were no more."""
        old = [turn.number for turn in self._turns[:-count]]
        if not old:
            return None
        self.drop(old)
        return f"all turns but the last {count} were left out"

    def shorten(self) -> str | None:
        """Keep the newer half of the turns, and only beginning and end of their long texts.

        Together they are then about a quarter as long. Returns a description; None if nothing could
        be removed.
        """
        kept = self._turns[len(self._turns) // 2 :]
        messages = sum(len(turn.messages) for turn in kept)
        longest = max(_SHORTEST, sum(turn.chars for turn in self._turns) // 4 // max(1, messages))
        shortened = [
            [
                _shortened(message if turn is kept[-1] else _without_pictures(message), longest)
                for message in turn.messages
            ]
            for turn in kept
        ]
        if len(kept) == len(self._turns) and shortened == [turn.messages for turn in kept]:
            return None
        self._turns = [
            _Turn(turn.number, parts, sum(map(_size, parts)))
            for turn, parts in zip(kept, shortened, strict=True)
        ]
        self._rebuild()
        return f"all but the last {len(kept)} turns, and the middle of long texts, were left out"

    def hide_media(self) -> bool:
        """Remove the files that the opening shows; return whether there were any."""
        if not any(message.media for message in self._opening):
            return False
        self._opening = [replace(message, media=()) for message in self._opening]
        self._rebuild()
        return True

    @property
    def shows_pictures(self) -> bool:
        """Whether a result in it shows pictures."""
        return any(message.media for turn in self._turns for message in turn.messages)

    def hide_pictures(self) -> bool:
        """Remove the pictures of results; return whether there were any."""
        if not self.shows_pictures:
            return False
        self._turns = [
            _Turn(turn.number, parts, sum(map(_size, parts)))
            for turn in self._turns
            for parts in [[_without_pictures(message) for message in turn.messages]]
        ]
        self._rebuild()
        return True

    def _rebuild(self) -> None:
        turns = (message for turn in self._turns for message in turn.messages)
        self._messages = [*self._opening, *turns]
        self.chars = sum(map(_size, self._messages))


def _size(message: Message) -> int:
    # Those that the opening shows never change, so that the provider's count includes them.
    pictures = sum(media.media_type.startswith("image/") for media in message.media)
    said = len(message.text) + sum(len(call.raw) for call in message.tool_calls)
    return said + pictures * _CHARS_PER_PICTURE


def _without_pictures(message: Message) -> Message:
    if not message.media:
        return message
    return replace(message, media=(), text=message.text + _NOT_SHOWN)


def _shortened(message: Message, longest: int) -> Message:
    # A replayed part must go back to the provider unchanged, and may contain the same text.
    if len(message.text) <= longest or message.replay:
        return message
    half = longest // 2
    mark = _MARK.format(count=len(message.text) - 2 * half)
    text = message.text[:half] + mark + message.text[-half:]
    return replace(message, text=text) if len(text) < len(message.text) else message
