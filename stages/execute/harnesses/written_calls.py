"""Tool calls that a model writes as text: one JSON object with a tool's name and its arguments.

Open models answer like this if their server does not convert their text into native calls. Parsing
is strict: the call must be the whole reply, or a block of its own at its end. JSON that is no call
of an offered tool, and prose that mentions one, count as an answer.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from environments.models.wire.arguments import clean_text, read_arguments
from environments.tool_runtime.naming import nearest_name

_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_BESIDE = frozenset({"id", "type", "call_id", "tool_call_id", "thought", "reasoning"})
"""Keys allowed beside name and arguments; with any other key the object is no call."""

_MAX_CHARS = 200_000
_MORE_FOLLOWS = "Extra data"
_THOUGHTS = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_TAG = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCE_LINE = re.compile(r"^```[\w-]*[ \t]*\n?")
_LAST_FENCE = re.compile(r"^```(?:json|tool_call|tool_code)?[ \t]*\n", re.MULTILINE)
_NAMED = re.compile(r'"(?:name|tool|tool_name|function|action)"\s*:\s*"([^"\\]{1,100})"')


@dataclass(frozen=True)
class WrittenCall:
    """One call as the model wrote it."""

    tool: str
    """May be a misspelling of an offered tool."""
    raw: str
    arguments: dict[str, Any] | None
    """None: the call is not one JSON object, or its arguments are not."""
    has_arguments: bool = True
    """Whether the call has arguments at all."""


def without_thoughts(text: str) -> str:
    """Return `text` without `<think>` blocks at its beginning."""
    while match := _THOUGHTS.match(text):
        text = text[match.end() :]
    # Templates that write the opening tag themselves leave only the closing tag in the reply.
    before, end, after = text.partition("</think>")
    return after if end and "<think>" not in before else text


def written_calls(text: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    """Return the calls of `tools` in a reply; empty if the reply is anything else."""
    body = without_thoughts(text).strip()
    if not body or len(body) > _MAX_CHARS:
        return ()
    if "<tool_call>" in body:
        return _tagged(body, tools)
    if body.startswith(("{", "[", "```")):
        return _whole(_unfenced(body), tools)
    return _after_prose(body, tools)


def call_in(value: Mapping[str, Any]) -> WrittenCall | None:
    """Return the call in a JSON object of any tool; None if the object is not a call."""
    inner = value.get("function")
    if isinstance(inner, Mapping) and set(value) - {"function"} <= _BESIDE:
        return call_in(inner)
    several = value.get("tool_calls")
    if isinstance(several, list) and len(several) == len(value) == 1:
        return call_in(several[0]) if isinstance(several[0], Mapping) else None
    names = [key for key in _NAMES if key in value]
    given = [key for key in _ARGUMENTS if key in value]
    if len(names) != 1 or len(given) > 1 or set(value) - {*names, *given} - _BESIDE:
        return None
    name = value[names[0]]
    if not isinstance(name, str) or not name.strip():
        return None
    return _call(clean_text(name).strip(), value[given[0]] if given else None)


def _call(name: str, arguments: Any) -> WrittenCall:
    if arguments is None:
        return WrittenCall(name, "{}", {}, has_arguments=False)
    # Providers send arguments as a JSON text, and models copy that.
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    # JSON escapes may stand for lone surrogates, which no store accepts.
    return WrittenCall(name, clean_text(raw), read_arguments(raw))


def _tagged(body: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    blocks = list(_TAG.finditer(body))
    between = [body[a.end() : b.start()] for a, b in pairwise(blocks)]
    if any(text.strip() for text in (*between, body[blocks[-1].end() :])):
        return ()
    found = [_whole(_unfenced(block[1]), tools) for block in blocks]
    return tuple(call for calls in found for call in calls) if all(found) else ()


def _unfenced(body: str) -> str:
    if not body.startswith("```"):
        return body
    return _FENCE_LINE.sub("", body).strip().removesuffix("```").strip()


def _whole(body: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    """Return the calls if the whole text consists of calls."""
    try:
        value = json.loads(body)
    except json.JSONDecodeError as exc:
        # Text after a complete object is prose, and the object an example in it.
        return () if exc.msg == _MORE_FOLLOWS else _broken(body, tools)
    except (ValueError, RecursionError):
        return _broken(body, tools)
    objects = value if isinstance(value, list) else [value]
    found = [_offered(item, tools) for item in objects]
    return tuple(call for call in found if call) if all(found) else ()


def _offered(value: Any, tools: Collection[str]) -> WrittenCall | None:
    call = call_in(value) if isinstance(value, Mapping) else None
    if call is None:
        return None
    if call.tool in tools:
        return call
    # A record such as {"name": "read files"} is no call, even if its name is like a tool's.
    return call if call.has_arguments and nearest_name(call.tool, tools) else None


def _broken(body: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    """Return a call in invalid JSON: it is not run, and the model is told the fault."""
    named = _NAMED.search(body)
    has_arguments = any(f'"{key}"' in body for key in _ARGUMENTS)
    if not body.startswith("{") or named is None or not has_arguments or named[1] not in tools:
        return ()
    return (WrittenCall(named[1], body, None),)


def _after_prose(body: str, tools: Collection[str]) -> tuple[WrittenCall, ...]:
    """Return the call in a fence at the end of the reply, if it is exactly a call."""
    opened = list(_LAST_FENCE.finditer(body))
    if not opened or not body.endswith("```") or "```" in body[: opened[-1].start()]:
        return ()
    block = body[opened[-1].start() :]
    calls = _whole(_unfenced(block), tools)
    exact = all(call.tool in tools and call.arguments is not None for call in calls)
    return calls if exact else ()
