"""Parsing answers of model providers: untrusted JSON that follows its format more or less."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.models.faults import AttemptFailed
from environments.models.wire.arguments import clean_text, read_arguments
from taskdata.schema.transcript import ToolCall

_NAME_CHARS = 200


class Wire(BaseModel):
    """A part of a response: types are strict, unknown fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


Count = Annotated[int, Field(strict=False, ge=0, le=10**10)]
"""A number of tokens; some servers write 12 as 12.0."""

CallId = str | int | None
"""Some servers number their calls, or give them no id."""

W = TypeVar("W", bound=Wire)


def read_json(body: bytes) -> Any:
    """Return the JSON value in `body`, or None if it is invalid."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def read_form(where: str, body: Any, form: type[W]) -> W:
    """Return a decoded answer as `form`; raises `AttemptFailed` that names the invalid field."""
    try:
        return form.model_validate(body)
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "answer"
        raise AttemptFailed(f"{where}: unexpected answer: {place}: {first['msg']}") from None


def read_usage(raw: Any, form: type[W]) -> W | None:
    """Return the usage that a server reports; None if it is missing or invalid."""
    try:
        return form.model_validate(raw)
    except ValidationError:
        return None


def read_call(call_id: CallId, name: str | None, written: object) -> ToolCall:
    """Return a tool call; arguments may come as text, as an object or not at all.

    Args:
        call_id: The server's id; None: the call gets an id from us, which only ties the result to
            the call.
        name: Name of the tool; a missing name is treated like an unknown tool.
        written: The arguments: JSON text, or the decoded value.
    """
    raw = (
        written if isinstance(written, str) else "" if written is None else arguments_text(written)
    )
    given = "" if call_id is None else str(call_id)
    return ToolCall(
        id=clean_text(given or _new_id())[:_NAME_CHARS],
        tool=clean_text(name or "")[:_NAME_CHARS],
        arguments=read_arguments(raw) if raw else {},
        raw=raw,
    )


def arguments_text(arguments: object) -> str:
    """Return decoded arguments as JSON text, in the form that `read_arguments` takes."""
    try:
        return json.dumps(arguments)
    except RecursionError:
        return "(nested too deeply to be written)"


def distinct(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls; a call that repeats another's id gets a new one."""
    seen: set[str] = set()
    kept = []
    for call in calls:
        own = call
        if call.id in seen:
            own = call.model_copy(update={"id": _new_id()})
        seen.add(own.id)
        kept.append(own)
    return tuple(kept)


def _new_id() -> str:
    return f"call_{uuid4().hex[:24]}"


def replayed(replay: tuple[dict[str, Any], ...], wire_format: str) -> Mapping[str, Any]:
    """Return what a reply of that format left for sending back; empty if it is another format."""
    for kept in replay:
        if kept.get("format") == wire_format:
            return kept
    return {}
