"""The ReAct text protocol: reading a model's reply, and writing what it observes.

Reading is tolerant in form (letter case, bold labels, quotes around names, fenced JSON, text after
it) and strict in content: what is not there is not made up, and what cannot be read is said back.
"""

import json
import re
from dataclasses import dataclass

from environments.models.wire.arguments import read_arguments
from taskdata.schema.tool import ToolResult

OBSERVATION = "Observation:"
"""What a result begins with."""
STOP = f"\n{OBSERVATION}"
"""Where the model's part ends: what follows would be a result it made up."""

_MAX_RAW_CHARS = 100_000
_LABEL = re.compile(
    r"^[ \t>*_#]*(?P<label>thought|action input|action|observation|final answer)"
    r"[ \t]*[*_]*[ \t]*:[*_]*",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^```[a-zA-Z]*[ \t]*\n?")
_AROUND_NAME = " \t`'\"*_[]()."

# An example, not placeholders: small models copy what they are shown.
FORMAT = (
    "Write one step, such as\n"
    "Thought: I read the file first.\n"
    "Action: read_file\n"
    'Action Input: {"path": "input/notes.txt"}\n'
    "or, when the work is done, a line that starts with Final Answer:"
)


@dataclass(frozen=True)
class Act:
    """The model asks for a tool."""

    tool: str
    raw: str
    """The arguments as written."""
    arguments: dict[str, object] | None
    """None: not one JSON object."""


@dataclass(frozen=True)
class Answer:
    """The model says that it is done."""

    text: str


@dataclass(frozen=True)
class Unreadable:
    """Neither; `reason` goes back to the model."""

    reason: str


def read_step(text: str) -> Act | Answer | Unreadable:
    """Return the first action or final answer of a reply; never raises, never guesses."""
    parts = _parts(text)
    for index, (label, content) in enumerate(parts):
        if label == "final answer":
            return Answer(_rest_of(text, parts, index))
        if label == "action":
            following = parts[index + 1] if index + 1 < len(parts) else ("", "")
            return _read_action(content, following)
        if label == "action input":
            return Unreadable(f"There is an Action Input without an Action before it. {FORMAT}")
    return Unreadable(f"The reply has no Action and no Final Answer. {FORMAT}")


def observation(result: ToolResult) -> str:
    """Return what the model reads of a tool's result."""
    mark = "" if result.error is None else "Error: "
    return f"{OBSERVATION} {mark}{result.text}"


def _parts(text: str) -> list[tuple[str, str]]:
    """Return (label, content) in order, up to the first observation the model made up."""
    found = list(_LABEL.finditer(text))
    parts = []
    for index, match in enumerate(found):
        label = match["label"].lower()
        if label == "observation":
            break
        end = found[index + 1].start() if index + 1 < len(found) else len(text)
        parts.append((label, text[match.end() : end].strip()))
    return parts


def _rest_of(text: str, parts: list[tuple[str, str]], index: int) -> str:
    """Return a final answer whole, labels that occur inside it included."""
    found = list(_LABEL.finditer(text))
    end = found[len(parts)].start() if len(found) > len(parts) else len(text)
    return text[found[index].end() : end].strip().removeprefix("**").strip()


def _read_action(content: str, following: tuple[str, str]) -> Act | Unreadable:
    first_line = content.partition("\n")[0]
    tool = first_line.strip(_AROUND_NAME)
    if not tool:
        return Unreadable(f"The Action names no tool. {FORMAT}")
    label, written = following
    if label != "action input":
        return Unreadable(
            f"The Action {tool[:80]!r} has no Action Input; write {{}} if the tool needs none. "
            f"{FORMAT}"
        )
    raw = _json_part(written)[:_MAX_RAW_CHARS]
    return Act(tool, raw, read_arguments(raw))


def _json_part(written: str) -> str:
    """Return the JSON object at the start of the text, without fence and without what follows."""
    body = _FENCE.sub("", written).strip()
    try:
        _, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return body.removesuffix("```").rstrip()
    return body[:end]
