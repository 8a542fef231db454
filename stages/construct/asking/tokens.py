"""How many tokens a prompt has, without the tokenizer of the model that reads it."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from environments.ports import Message

_SINGLE = re.compile(r"[0-9]|[^\w\s]{1,2}|\n")
_LETTERS_PER_TOKEN = 3.5
_PER_MESSAGE = 8
"""Tokens of the marks around a message."""


def estimated_tokens(text: str) -> int:
    """Return about how many tokens `text` has: as a rule somewhat more than it has.

    A digit, two marks of punctuation in a row, a line break and a letter outside ASCII count as one
    each, and 3.5 other letters as one.
    """
    single = len(_SINGLE.findall(text))
    foreign = sum(not char.isascii() and char.isalpha() for char in text)
    others = sum(char.isascii() and (char.isalpha() or char == "_") for char in text)
    return single + foreign + -(-int(others * 10) // int(_LETTERS_PER_TOKEN * 10))


def tokens_of(messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> int:
    """Return about how many tokens a conversation has, with the schema of its answer."""
    texts = [message.text for message in messages]
    if schema is not None:
        texts.append(json.dumps(schema))
    return sum(estimated_tokens(text) for text in texts) + _PER_MESSAGE * len(messages)


def shortened_reply(text: str, limit: int) -> str:
    """Return a model's answer as it is shown again, with at most about `limit` tokens."""
    kept = text
    while kept and estimated_tokens(kept) > limit:
        kept = kept[: len(kept) * 3 // 4]
    return text if kept == text else f"{kept}\n(... {len(text) - len(kept)} more characters)"
