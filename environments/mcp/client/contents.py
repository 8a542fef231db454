"""A server's answer as an observation: its text in order, and the files it contains."""

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from environments.mcp.client.schemas import shortened
from environments.toolkit.definition import MAX_RESULT_CHARS
from environments.toolkit.media_types import media_type_of

MAX_ATTACHMENT_BYTES = 4 << 20

_MAX_BLOCKS = 200
_MAX_ATTACHMENTS = 8
_MAX_LINE_CHARS = 300
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "image/jpg": ".jpg",
    "image/svg+xml": ".svg",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/json": ".json",
    "application/zip": ".zip",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/plain": ".txt",
}
_PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
"""Endings of the pictures that are shown to models, and what their content must be."""


@dataclass(frozen=True)
class Attachment:
    """A file that an answer contains."""

    data: bytes
    suffix: str
    media_type: str

    @property
    def is_picture(self) -> bool:
        """Whether a model can be shown it."""
        return self.suffix in _PICTURES


@dataclass(frozen=True)
class Link:
    """A resource that an answer refers to; its content can be requested from the server."""

    name: str
    uri: str

    @property
    def text(self) -> str:
        """What is shown of the link itself."""
        return f"[resource {_one_line(self.name)}: {_one_line(self.uri)}]"


Part = str | Attachment | Link
"""A piece of an answer: text to show, a file to save, or a resource to request."""


def parts_of(result: CallToolResult) -> Sequence[Part]:
    """Return the pieces of an answer in order, limited to about the length of a tool result.

    Media of unsupported kinds or sizes are only mentioned; an answer that has nothing but
    structured content is shown as JSON.
    """
    parts: list[Part] = []
    chars, attachments = 0, 0
    for block in result.content[:_MAX_BLOCKS]:
        for part in _parts_of_block(block):
            if isinstance(part, str):
                chars += len(part)
            if not isinstance(part, Attachment):
                parts.append(part)
                continue
            attachments += 1
            is_one_too_many = attachments > _MAX_ATTACHMENTS
            parts.append(f"[{part.media_type}: not kept]" if is_one_too_many else part)
        if chars > MAX_RESULT_CHARS:
            break
    if len(result.content) > _MAX_BLOCKS:
        parts.append(f"[{len(result.content) - _MAX_BLOCKS} more parts are not shown]")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    return parts


def _parts_of_block(block: ContentBlock) -> Iterator[Part]:
    if isinstance(block, TextContent):
        yield block.text
    elif isinstance(block, ImageContent | AudioContent):
        yield _media(block.data, block.mime_type)
    elif isinstance(block, ResourceLink):
        yield Link(block.name, str(block.uri))
    elif isinstance(block, EmbeddedResource):
        yield f"[resource {_one_line(block.resource.uri)}]"
        yield _content(block.resource)


def content_of(resource: ReadResourceResult) -> Sequence[str | Attachment]:
    """Return the pieces of a resource that was read, up to a fixed number."""
    return [_content(one) for one in resource.contents[:_MAX_ATTACHMENTS]]


def _content(resource: TextResourceContents | BlobResourceContents) -> str | Attachment:
    if isinstance(resource, TextResourceContents):
        return resource.text
    return _media(resource.blob, resource.mime_type or "")


def _one_line(text: object) -> str:
    return " ".join(shortened(str(text), _MAX_LINE_CHARS).split())


def _media(encoded: str, media_type: str) -> str | Attachment:
    kind = _one_line(media_type) or "data of unknown kind"
    suffix = _SUFFIXES.get(media_type.lower().partition(";")[0].strip())
    size = len(encoded) * 3 // 4
    if suffix is None or size > MAX_ATTACHMENT_BYTES:
        return f"[{kind}, about {size} bytes: not shown]"
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind}: not readable]"
    expected, found = _PICTURES.get(suffix), media_type_of(data)
    if expected is not None and found != expected:
        is_ = "no picture that can be shown" if found is None else found
        return f"[{kind}, {len(data)} bytes: not shown, because its content is {is_}]"
    return Attachment(data, suffix, kind)
