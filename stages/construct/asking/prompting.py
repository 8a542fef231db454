"""Prompts of construction: one template each in `prompts/`, with the version in its first line.

Text by models, users and files is wrapped in `Untrusted` and can only be shown through the `fenced`
filter, between marks that it cannot forge: the mark is a hash of the text itself.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined, pass_context
from jinja2.runtime import Context

from environments.models.wire.arguments import clean_text
from environments.ports import Message
from taskdata.errors import NightshiftError

FENCED_CHARACTERS = 40_000
"""Characters shown of one untrusted text."""

_FOLDER = Path(__file__).parent / "prompts"
_VERSION = re.compile(r"\{# version: (\d{1,4}) #\}\n")
_USER_LINE = "=== user\n"
_AGAIN = "_again.j2"
"""Template of the message after an invalid answer to any question."""


@dataclass(frozen=True)
class Untrusted:
    """Text of somebody else: it is data, whatever it says."""

    text: str


@dataclass(frozen=True)
class Prompt:
    """The opening of a conversation, and the version of its template."""

    version: str
    """`name@N`."""
    messages: tuple[Message, ...]
    left_out: tuple[str, ...] = ()
    """What it does not show because it would be too long, in our words."""
    within: Callable[[int], "Prompt"] | None = None
    """Returns the same question in fewer tokens; None: it cannot be cut."""


def prompt(name: str, context: Mapping[str, Any]) -> Prompt:
    """Return the prompt of that template filled with `context`.

    Raises:
        jinja2.UndefinedError: if the template uses a name that `context` does not have.
    """
    system, _, user = _text(f"{name}.j2").partition(_USER_LINE)
    environment = _environment()
    filled = {"left_out": (), "fence": FENCED_CHARACTERS, **context}
    instructions = environment.from_string(system).render(filled).strip()
    question = environment.from_string(user).render(filled).strip()
    messages = (Message("system", instructions), Message("user", question))
    return Prompt(version_of(name), messages)


def complaint(fault: str) -> Message:
    """Return the message to a model whose answer is invalid."""
    text = _environment().get_template(_AGAIN).render(fault=Untrusted(fault))
    return Message("user", text.strip())


def version_of(name: str) -> str:
    """Return `name@N`, the version that the template's first line declares."""
    declared = _VERSION.match(_text(f"{name}.j2"))
    if declared is None:
        raise NightshiftError(f"prompt {name}.j2: its first line must be {{# version: N #}}")
    return f"{name}@{declared[1]}"


@pass_context
def _fenced_here(
    context: Context, value: object, label: str = "text", limit: int = FENCED_CHARACTERS
) -> str:
    """Return the text between marks, cut to `fence`, the most that this prompt shows of a text."""
    return fenced(value, label, min(limit, context.get("fence", limit)))


def fenced(value: object, label: str = "text", limit: int = FENCED_CHARACTERS) -> str:
    """Return `value` between marks that it cannot forge: a hash of a text is not in that text.

    Args:
        value: `Untrusted`, a text, or any JSON value.
        label: A description in our words.
        limit: Characters that are shown; a longer text is cut with a notice.

    Raises:
        jinja2.UndefinedError: if the value is undefined.
    """
    text = value.text if isinstance(value, Untrusted) else value
    if isinstance(text, Undefined):
        text = str(text)  # raises: that is how it says so
    if not isinstance(text, str):
        text = _as_json(text)
    text = clean_text(text)
    if len(text) > limit:
        text = f"{text[:limit]}\n(... {len(text) - limit} more characters)"
    mark = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"BEGIN DATA {mark} ({label})\n{text}\nEND DATA {mark}"


def _as_json(value: object) -> str:
    """Return a value as JSON, each field and each object of a list on a line of its own."""
    if isinstance(value, Mapping):
        lines = [f"{json.dumps(str(k))}: {_as_json(v)}" for k, v in value.items()]
        return "{" + ",\n".join(lines) + "}"
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "[" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - plain text: escaping would change what the model reads
        finalize=_only_trusted,
    )
    environment.filters["fenced"] = _fenced_here
    return environment


def _only_trusted(value: object) -> object:
    if isinstance(value, Untrusted):
        raise NightshiftError("a prompt shows an untrusted text without the `fenced` filter")
    return value
