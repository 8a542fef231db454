"""The ReAct text protocol: parsing a model's reply, and formatting its observations.

Parsing is tolerant in form (letter case, bold labels, quotes around names, fenced JSON, calls
written as code or as one JSON object) and strict in content: nothing is invented, and the model is
told what could not be parsed.
"""

import json
import re
from collections.abc import Collection

from environments.models.wire.arguments import read_arguments
from stages.execute.harnesses.code_calls import code_call
from stages.execute.harnesses.steps import Act, FinalAnswer, Step, Unreadable
from stages.execute.harnesses.written_calls import call_in, without_thoughts, written_calls
from taskdata.schema.tool import ToolResult

OBSERVATION = "Observation:"
"""The beginning of a result."""
STOP = f"\n{OBSERVATION}"
"""The end of the model's part: text after it would be a result that the model invented."""

_MAX_RAW_CHARS = 100_000
_INPUT_LABEL = r"action[ _-]?input|arguments"
# Runs of blanks are limited: a reply of blanks only must not take quadratic time.
_LABEL = re.compile(
    rf"^[ \t>*_#]{{0,20}}(?P<label>thought|{_INPUT_LABEL}|action|observation|final[ _]answer)"
    r"[ \t]{0,8}(?:[*_]{0,8}[ \t]{0,8}:[*_]{0,8}|(?P<bare>[*_]{0,8}[ \t]{0,8}$))",
    re.IGNORECASE | re.MULTILINE,
)
_INPUT_ON_LINE = re.compile(rf"(?<!\w)(?:{_INPUT_LABEL})[ \t*_]{{0,8}}:[*_]{{0,8}}", re.IGNORECASE)
_NAME_AND_JSON = re.compile(
    r"(?P<name>[^\s:{]{1,100})[ \t]{0,8}:?\s{0,8}(?P<input>\{.*)", re.DOTALL
)
_FENCE = re.compile(r"^```[a-zA-Z]*[ \t]*\n?")
_AROUND_NAME = " \t\n`'\"*_[]().,;"
_FINAL = "finalanswer"


def read_step(text: str, tools: Collection[str] = ()) -> Step:
    """Return the first action or final answer of a reply; never raises, never guesses.

    Args:
        text: The reply.
        tools: Names of offered tools, which identify a reply that is one JSON object as a call.
    """
    text = without_thoughts(text)
    parts = _parts(text)
    for index, (label, content) in enumerate(parts):
        if label == "final answer":
            return FinalAnswer(_rest_of(text, parts, index))
        if label == "action":
            following = parts[index + 1] if index + 1 < len(parts) else ("", "")
            return _read_action(content, following)
        if label == "action input":
            return Unreadable("There is an Action Input without an Action before it.")
    return _read_without_labels(text, tools)


def observation(result: ToolResult) -> str:
    """Return a tool's result in the form that the model reads."""
    mark = "" if result.error is None else "Error: "
    return f"{OBSERVATION} {mark}{result.text}"


def _read_without_labels(text: str, tools: Collection[str]) -> Step:
    step = _json_step(_json_part(text.strip()))
    if isinstance(step, FinalAnswer):
        return step
    calls = written_calls(text, tools)
    if len(calls) == 1:
        return Act(calls[0].tool, calls[0].raw, calls[0].arguments)
    if calls:
        return Unreadable(f"The reply has {len(calls)} actions; write one and wait for it.")
    if text.lstrip(" \t>*_#").lower().startswith(OBSERVATION.lower()):
        return Unreadable(
            "The reply begins with an Observation of your own; only tools write those. It has no "
            "Action and no Final Answer before it."
        )
    return Unreadable("The reply has no Action and no Final Answer.")


def _labels(text: str) -> list[re.Match[str]]:
    """Return the labels: with a colon, or `Final Answer` as a heading."""
    found = []
    for match in _LABEL.finditer(text):
        is_heading = match.group().lstrip()[:1] in "#*" and _kind(match) == "final answer"
        if match["bare"] is None or is_heading:
            found.append(match)
    return found


def _kind(match: re.Match[str]) -> str:
    words = match["label"].lower().replace("_", " ").replace("-", " ")
    return "action input" if words == "actioninput" else words


def _parts(text: str) -> list[tuple[str, str]]:
    """Return pairs of label and content in order, up to the first invented observation."""
    found = _labels(text)
    parts: list[tuple[str, str]] = []
    for index, match in enumerate(found):
        label = _kind(match)
        if label == "observation":
            break
        end = found[index + 1].start() if index + 1 < len(found) else len(text)
        parts.append((label, text[match.end() : end].strip()))
    return parts


def _rest_of(text: str, parts: list[tuple[str, str]], index: int) -> str:
    """Return a final answer in full, including labels inside it."""
    found = _labels(text)
    end = found[len(parts)].start() if len(found) > len(parts) else len(text)
    return text[found[index].end() : end].strip().removeprefix("**").strip()


def _read_action(content: str, following: tuple[str, str]) -> Step:
    body = _FENCE.sub("", content).strip()
    if body.startswith("{"):
        return _json_step(_json_part(body)) or Unreadable(
            "The Action is a JSON object that names no tool: it needs the keys action and "
            "action_input, and nothing else."
        )
    label, written = following
    if label in ("action input", "arguments"):
        return _named(content.partition("\n")[0].partition("(")[0], written)
    if (split := _INPUT_ON_LINE.search(content)) is not None:
        return _named(content[: split.start()], content[split.end() :])
    if (called := code_call(body.removesuffix("```").strip(" \t\n`*"))) is not None:
        return called
    if (both := _NAME_AND_JSON.match(body)) is not None:
        return _named(both["name"], both["input"])
    tool = content.partition("\n")[0].strip(_AROUND_NAME)
    if not tool:
        return Unreadable("The Action names no tool.")
    return Unreadable(
        f"The Action {tool[:80]!r} has no Action Input; write {{}} if the tool needs none."
    )


def _named(name: str, written: str) -> Step:
    tool = name.strip(_AROUND_NAME)
    if not tool:
        return Unreadable("The Action names no tool.")
    raw = _json_part(written)[:_MAX_RAW_CHARS]
    return Act(tool, raw, read_arguments(raw))


def _json_step(body: str) -> Step | None:
    """Return the step in one JSON object: a call, or a final answer in LangChain's form."""
    value = read_arguments(body)
    if value is None:
        return None
    if set(value) <= {"thought", "final_answer"} and isinstance(value.get("final_answer"), str):
        return FinalAnswer(value["final_answer"].strip())
    call = call_in(value)
    if call is None:
        return None
    if "".join(filter(str.isalpha, call.tool.lower())) == _FINAL:
        return FinalAnswer(call.raw.strip())
    return Act(call.tool, call.raw, call.arguments)


def _json_part(written: str) -> str:
    """Return the JSON object at the start of the text, without fence and following text."""
    body = _FENCE.sub("", written).strip()
    try:
        _, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return body.removesuffix("```").rstrip()
    return body[:end]
