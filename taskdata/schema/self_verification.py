"""Whether an agent looked at what it had made, from its tool calls (TOBench, section 5, table 4).

TOBench's annotators tell apart work that was declared done without a look, work of which only the
existence, the size or other facts were checked, and work of which only an earlier state was looked
at. The last two do not say how the final file looks, so both are `existence` here, or `none` where
nothing at all was done after the last change.
"""

import json
import re
from collections.abc import Collection
from enum import StrEnum
from pathlib import PurePosixPath

from taskdata.schema.transcript import ToolEvent, Transcript

RENDERS = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
"""Endings of files in which others are rendered."""
VISIBLE = RENDERS | {".docx", ".pptx", ".xlsx", ".html", ".htm", ".svg", ".mp4", ".webm"}
"""Endings of files of which one has to see how they look."""
LOOKING_TOOLS = frozenset(
    {
        "ImageDescription",
        "RegionAttributeDescription",
        "VideoDescription",
        "CountGivenObject",
        "TextToBbox",
    }
)
"""Tools that have a multimodal model look at a file for the agent."""

_FILE = re.compile(rf"\w(?:{'|'.join(map(re.escape, sorted(VISIBLE)))})(?!\w)", re.IGNORECASE)


class SelfVerification(StrEnum):
    """What an agent did with a file after it had changed it for the last time."""

    NONE = "none"
    """Nothing: no call named it, and no listing showed it."""
    EXISTENCE = "existence"
    """It was listed or read as text or data, but not looked at."""
    LOOKED = "looked"
    """It was rendered, and the model was shown the picture."""


_ORDER = tuple(SelfVerification)


def self_verification(
    transcript: Transcript, delivered: Collection[str]
) -> SelfVerification | None:
    """Return the level of the least verified file.

    Args:
        transcript: The record of the trial.
        delivered: Paths in the workspace of the files that the task asks for and that are there,
            such as `output/deck.pptx`; only those that have a look count.

    Returns:
        The level; None without such a file, and where not all calls are known.
    """
    visible = [path for path in delivered if _ending(path) in VISIBLE]
    if not visible or not transcript.calls_are_known:
        return None
    return min(
        (verification_of(path, transcript.tool_events) for path in visible), key=_ORDER.index
    )


def verification_of(path: str, events: Collection[ToolEvent]) -> SelfVerification:
    """Return what was done with the file at `path` in these calls after its last change."""
    listed = list(events)
    last = max((at for at, event in enumerate(listed) if path in event.files), default=-1)
    # A program that writes a file may render it as well.
    versions = {path} | ({f for f in listed[last].files if _is_render(f)} if last >= 0 else set())
    level, was_named_last = SelfVerification.NONE, False
    for event in listed[last + 1 :]:
        if event.error is not None:
            continue
        arguments = _arguments(event)
        is_named = any(_names(arguments, version) for version in versions)
        names_none = _FILE.search(arguments) is None
        # The screenshot of a page that was opened before names no file.
        if _looks(event) and (is_named or (names_none and was_named_last)):
            return SelfVerification.LOOKED
        if is_named:
            versions |= {file for file in event.files if _is_render(file)}
        if is_named or any(_names(event.text, version) for version in versions):
            level = SelfVerification.EXISTENCE
        was_named_last = is_named or (names_none and was_named_last)
    return level


def _looks(event: ToolEvent) -> bool:
    return event.call.tool in LOOKING_TOOLS or any(p.was_shown for p in event.pictures)


def _arguments(event: ToolEvent) -> str:
    arguments = event.call.arguments
    return event.call.raw if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _names(text: str, path: str) -> bool:
    name = PurePosixPath(path).name
    # Searching for the plain text first is cheap, and results may be long.
    return name in text and (re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None)


def _is_render(path: str) -> bool:
    return _ending(path) in RENDERS


def _ending(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
