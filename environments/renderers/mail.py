"""E-mail messages (RFC 5322 and MIME): headers, the visible text, attachments."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage, Message, MIMEPart
from email.policy import default
from pathlib import Path

from environments.renderers.limits import (
    MAX_MESSAGE_PARTS,
    Meter,
    Unreadable,
    read_bytes,
    refuse_beyond,
)
from environments.renderers.web.html import html_view
from taskdata.schema.views import Attachment, MailView


def read_mail(path: Path) -> MailView:
    """Return the headers, text and attachments of an EML file; attachments are not opened.

    If there is only HTML, the text is the visible text of that page.
    """
    meter = Meter()
    message = message_from_bytes(read_bytes(path), EmailMessage, policy=default)
    if not message.keys():
        raise Unreadable("its content is not that of a message: it begins with no header")
    parts = tuple(_parts(message))
    attached = tuple(part for part in parts if _is_attached(part))
    bodies = tuple(part for part in parts if not _is_attached(part))
    return MailView(
        headers=tuple(
            (meter.text(name), meter.text(str(value))) for name, value in message.items()
        ),
        text=_text(bodies, meter),
        attachments=tuple(_attachment(part, meter) for part in attached),
    )


def _parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """Yield the parts of the message in order; an attached message is one part."""
    waiting: list[MIMEPart] = [message]
    seen = 0
    while waiting:
        part = waiting.pop()
        seen += 1
        refuse_beyond(seen, MAX_MESSAGE_PARTS, "parts")
        if part.get_content_maintype() != "multipart":
            yield part
        elif part.is_multipart():
            waiting.extend(reversed(list(part.iter_parts())))
        else:
            raise Unreadable("it says that it has parts, and where they begin is not found")


def _is_attached(part: MIMEPart) -> bool:
    is_named = part.is_attachment() or part.get_filename() is not None
    return is_named or part.get_content_type() not in ("text/plain", "text/html")


def _text(bodies: tuple[MIMEPart, ...], meter: Meter) -> str:
    plain = [part for part in bodies if part.get_content_type() == "text/plain"]
    if plain:
        texts = (meter.text(part.get_content()) for part in plain)
    else:
        texts = (html_view(part.get_content(), meter).text for part in bodies)
    return "\n\n".join(text.strip() for text in texts)


def _attachment(part: MIMEPart, meter: Meter) -> Attachment:
    return Attachment(
        name=meter.text(part.get_filename()),
        media_type=meter.text(part.get_content_type()),
        size_bytes=len(_content(part)),
    )


def _content(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    if isinstance(payload, bytes):
        return payload
    inner = (message for message in part.get_payload() if isinstance(message, Message))
    return b"".join(bytes(message) for message in inner)
