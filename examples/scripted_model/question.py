"""A request as the scripted model understands it: what is asked for, and about what."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Asked(StrEnum):
    """What the pipeline asks a model for."""

    GENERATE = "generate"
    CLASSIFY = "classify"
    REWRITE = "rewrite"
    """To augment, refine or repair: a task without its tree."""
    OPINIONS = "opinions"
    CHECKPOINTS = "checkpoints"
    REQUIREMENTS = "requirements"
    REFERENCE = "reference"
    EXPAND = "expand"
    DISCOVER = "discover"
    REFLECT = "reflect"
    HARM = "harm"
    """Whether a request may become a task; asked where the settings say so."""


OPENINGS: Mapping[str, Asked] = {
    "You write tasks for a benchmark": Asked.GENERATE,
    "You decide what should become of a drafted task": Asked.CLASSIFY,
    "You make a task of a benchmark more demanding": Asked.REWRITE,
    "You put a task of a benchmark into clear words": Asked.REWRITE,
    "A task of a benchmark of assistants that work with tools on files breaks": Asked.REWRITE,
    "You proofread tasks": Asked.OPINIONS,
    "You write the tree of checkpoints": Asked.CHECKPOINTS,
    "You list what a task demands": Asked.REQUIREMENTS,
    "You solve a task of a benchmark": Asked.REFERENCE,
    "You write short questions for a benchmark": Asked.EXPAND,
    "You find work that people would really hand to an assistant": Asked.DISCOVER,
    "You go over requests that were proposed": Asked.REFLECT,
    "You guard the door of a benchmark": Asked.HARM,
}
"""How the system message of each prompt begins."""

_FENCED = re.compile(r"BEGIN DATA ([0-9a-f]{16}) \(([^\n]*)\)\n(.*?)\nEND DATA \1", re.DOTALL)


class NotScripted(Exception):
    """A request that no script has an answer to; the message says what was looked for."""


@dataclass(frozen=True)
class Question:
    """One request."""

    asked: Asked
    data: Mapping[str, str]
    """Fenced texts by their labels; of several with one label the first."""
    text: str
    """The opening question, fenced texts included."""
    rejected: str | None
    """The answer that is complained about; None: asked for the first time."""


def read_question(body: Mapping[str, Any]) -> Question:
    """Return what the body of a chat completions request asks.

    Raises:
        NotScripted: if it is none of the pipeline's prompts.
    """
    messages = [_message(message) for message in _listed(body.get("messages"))]
    if [role for role, _ in messages[:2]] != ["system", "user"]:
        raise NotScripted("the conversation does not begin with a system and a user message")
    system, text = messages[0][1], messages[1][1]
    asked = next((a for opening, a in OPENINGS.items() if system.startswith(opening)), None)
    if asked is None:
        raise NotScripted(f"no prompt begins {system[:60]!r}")
    data: dict[str, str] = {}
    for _, label, fenced in _FENCED.findall(text):
        data.setdefault(label, fenced)
    answers = [said for role, said in messages[2:] if role == "assistant"]
    return Question(asked, data, text, answers[-1] if answers else None)


def _listed(messages: object) -> Sequence[object]:
    return messages if isinstance(messages, list) else ()


def _message(message: object) -> tuple[str, str]:
    if not isinstance(message, dict):
        return "", ""
    return str(message.get("role")), str(message.get("content"))
