"""Scripted users of talks: how each user answers the assistant's last words."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from examples.scripted_model.question import NotScripted
from taskdata.schema.base import Value

USERS = Path(__file__).parent / "users"
OPENING = "You play a person who has asked an assistant"
"""How the system message of a simulated user begins."""


class Line(Value):
    """One thing that the user may say."""

    hears: tuple[str, ...] = ()
    """The line fits if the assistant's last words hold one of these in any case; empty: always."""
    says: str = ""
    ends: bool = False


class ScriptedUser(Value):
    """The user of one task, who says the first line that fits."""

    told: str
    """Words that occur in the instructions of this user only."""
    lines: tuple[Line, ...] = Field(min_length=1)


@cache
def scripted_users(folder: Path = USERS) -> tuple[ScriptedUser, ...]:
    """Return every user in the folder."""
    paths = sorted(folder.glob("*.yaml"))
    return tuple(ScriptedUser.model_validate(yaml.safe_load(p.read_text("utf-8"))) for p in paths)


def is_talk(body: Mapping[str, Any]) -> bool:
    """Return whether a chat completions request asks for a turn of a simulated user."""
    return _text(body, 0).startswith(OPENING)


def users_turn(body: Mapping[str, Any], known: Sequence[ScriptedUser]) -> str:
    """Return what the user of a talk says.

    Raises:
        NotScripted: if no script plays that user, or it has nothing to say.
    """
    told, shown = _text(body, 0), _text(body, 1)
    user = next((one for one in known if one.told in told), None)
    if user is None:
        raise NotScripted(f"no script plays the user with the instructions {told[-80:]!r}")
    mark = shown.split()[2]
    heard = shown.rpartition(f"{mark} assistant\n")[2].partition(f"\nEND TALK {mark}")[0].casefold()
    for line in user.lines:
        if not line.hears or any(words.casefold() in heard for words in line.hears):
            return json.dumps({"message": line.says, "ends_talk": line.ends})
    raise NotScripted(f"the user's script has no answer to {heard[:80]!r}")


def _text(body: Mapping[str, Any], at: int) -> str:
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else []
    message = listed[at] if at < len(listed) else None
    return str(message.get("content")) if isinstance(message, dict) else ""
