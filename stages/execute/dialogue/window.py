"""How full a model's window is, by its provider's own count of the last request."""

from taskdata.schema.transcript import Usage

_CHARS_PER_TOKEN = 3
"""On the safe side for text and code in most languages; only what was added is guessed with it."""


class ContextWindow:
    """Estimates the next request; a provider that counts nothing leaves it unknown."""

    def __init__(self, tokens: int | None) -> None:
        self.tokens = tokens
        """Longest input; None: unknown."""
        self._counted: tuple[int, int] | None = None

    def count(self, usage: Usage, chars: int) -> None:
        """Take what the provider counted in a request and its reply, now `chars` together."""
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
        """Whether a conversation fits with its reply, as far as anybody knows."""
        estimate = self.estimate(chars)
        return self.tokens is None or estimate is None or estimate + reply_tokens <= self.tokens

    def is_half_full(self, chars: int) -> bool:
        """Whether a conversation takes half of the window, as far as anybody knows."""
        estimate = self.estimate(chars)
        return self.tokens is not None and estimate is not None and 2 * estimate >= self.tokens
