"""The dialog of a GTA item: query, executable tool chain, answer (GTA, appendix C.4)."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskdata.formats.documents import decode
from taskdata.formats.files import Folder
from taskdata.formats.rows import RowNotes, RowRefused, refusal
from taskdata.schema.task import InputFile, ReferenceSolution, ReferenceStep

_UNPARSED = "inputs"


@dataclass
class Dialog:
    """What a dialog holds."""

    query: str
    resources: Any = None
    """Files that the user's message names."""
    steps: list[ReferenceStep] = field(default_factory=list)
    final_answer: str | None = None

    @property
    def reference(self) -> ReferenceSolution | None:
        """The recorded solution; None if the dialog stops at the query."""
        if not self.steps and not self.final_answer:
            return None
        return ReferenceSolution(steps=tuple(self.steps), final_answer=self.final_answer or "")


def read_dialog(item: Mapping[str, Any], notes: RowNotes) -> Dialog:
    """Return query, tool chain and final answer of an item.

    Every assistant message with calls becomes steps; a tool message is the result of the earliest
    call that has none. What fits nowhere is kept.

    Raises:
        RowRefused: if a message has not the published shape.
    """
    messages = decoded("dialogs", item.get("dialogs"))
    if not isinstance(messages, list) or not messages:
        raise refusal("dialogs", "must be a list of messages that starts with the user's", messages)
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise refusal(f"dialogs.{position}", "must be a mapping with role and content", message)
    start = next((n for n, one in enumerate(messages) if one.get("role") != "system"), 0)
    first = messages[start]
    query = first.get("content")
    if first.get("role") != "user" or not isinstance(query, str) or not query:
        says = "must be the user's message with the query as its text"
        raise refusal(f"dialogs.{start}", says, first)
    for position in range(start):
        notes.keep(f"dialogs.{position}", dict(messages[position]))
    notes.keep_rest(first, {"role", "content", "resources"}, f"dialogs.{start}.")
    dialog = Dialog(query=query, resources=first.get("resources"))
    answered = 0
    for position, message in enumerate(messages[start + 1 :], start=start + 1):
        where = f"dialogs.{position}"
        if message.get("tool_calls"):
            _read_calls(where, message, dialog, notes)
        elif message.get("role") == "tool" and answered < len(dialog.steps):
            dialog.steps[answered] = _with_result(where, dialog.steps[answered], message, notes)
            answered += 1
        elif position == len(messages) - 1 and _is_answer(message):
            dialog.final_answer = message["content"]
            notes.keep_rest(message, {"role", "content", "tool_calls"}, f"{where}.")
        else:
            notes.keep(where, dict(message))
    return dialog


def decoded(where: str, given: Any) -> Any:
    """Return a value that is stated as JSON text, as in tables of the data set; others as they are.

    Raises:
        RowRefused: if the text is not JSON.
    """
    if not isinstance(given, str):
        return given
    try:
        return decode(given)
    except RowRefused as exc:
        raise refusal(where, str(exc), given) from exc


def read_files(
    item: Mapping[str, Any], dialog: Dialog, folder: Folder, notes: RowNotes
) -> tuple[tuple[InputFile, ...], dict[str, Path]]:
    """Return the input files of an item, and where they are by sha256.

    They stand in `files`, or in `resources` of the user's message.

    Raises:
        RowRefused: if one is not a plain file within the folder.
    """
    files: dict[str, InputFile] = {}
    places: dict[str, Path] = {}
    for where, listed in (("files", item.get("files")), ("resources", dialog.resources)):
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise refusal(where, "must be a list of files", listed)
        for position, entry in enumerate(listed):
            path = entry.get("path") if isinstance(entry, Mapping) else entry
            if not isinstance(path, str):
                says = "must be a text; a file is read from the data set and never fetched"
                raise refusal(f"{where}.{position}.path", says, entry)
            if isinstance(entry, Mapping):
                notes.keep_rest(entry, {"path"}, f"{where}.{position}.")
            path = path.removeprefix("./")
            files[path], place = folder.find(f"{where}.{position}.path", path)
            places[files[path].sha256] = place
    return tuple(files.values()), places


def _is_answer(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant" and isinstance(message.get("content"), str)


def _read_calls(where: str, message: Mapping[str, Any], dialog: Dialog, notes: RowNotes) -> None:
    calls = message["tool_calls"]
    if not isinstance(calls, list):
        raise refusal(f"{where}.tool_calls", "must be a list of calls", calls)
    thought = message.get("thought")
    if thought is not None and not isinstance(thought, str):
        raise refusal(f"{where}.thought", "must be a text", thought)
    notes.keep_rest(message, {"role", "tool_calls", "thought"}, f"{where}.")
    for position, call in enumerate(calls):
        place = f"{where}.tool_calls.{position}"
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise refusal(f"{place}.function", "must be a mapping with name and arguments", call)
        if call.get("type") != "function":
            notes.keep(f"{place}.type", call.get("type"))
        notes.keep_rest(call, {"type", "function"}, f"{place}.")
        notes.keep_rest(function, {"name", "arguments"}, f"{place}.function.")
        step = ReferenceStep(
            tool=function["name"],
            arguments=_arguments(f"{place}.function.arguments", function.get("arguments")),
            thought=(thought or "") if position == 0 else "",
        )
        dialog.steps.append(step)


def _arguments(where: str, given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    arguments = given
    if isinstance(given, str):
        with suppress(RowRefused):
            arguments = decode(given)
    if isinstance(given, str) and not isinstance(arguments, dict):
        # The published agent passes on what is no mapping as the one argument of this name.
        return {_UNPARSED: given}
    if not isinstance(arguments, dict):
        raise refusal(where, "must be a mapping of arguments", given)
    return arguments


def _with_result(
    where: str, step: ReferenceStep, message: Mapping[str, Any], notes: RowNotes
) -> ReferenceStep:
    notes.keep_rest(message, {"role", "name", "content"}, f"{where}.")
    if message.get("name") not in (None, step.tool):
        notes.keep(f"{where}.name", message["name"])
    content = message.get("content")
    if isinstance(content, Mapping) and isinstance(content.get("content"), str):
        notes.keep_rest(content, {"content"}, f"{where}.content.")
        content = content["content"]
    elif content is None:
        content = ""
    elif not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False)
    return step.model_copy(update={"result": content})
