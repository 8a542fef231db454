"""The mailboxes of a mail server, accessed over IMAP, and their content at the end."""

import csv
import email
import imaplib
import re
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path
from typing import Any

from environments.services.inside.lines import plain

OUTBOX = "outbox"
"""Account, without an address, that receives messages to unknown recipients."""

COLUMNS = (
    *("account", "mailbox", "file", "flags", "delivered_to"),
    *("from", "to", "cc", "subject", "date", "attachments", "text"),
)
"""Columns of `messages.csv`."""

_SECONDS = 60.0
_MAX_TEXT = 20_000
_LISTED = re.compile(rb'\((?P<flags>[^)]*)\) (?:"[^"]*"|NIL) (?P<name>.*)', re.DOTALL)


def connected(path: Path, timeout: float) -> socket.socket:
    """Return a connection to the Unix socket at `path`."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    connection.connect(str(path))
    return connection


class _UnixIMAP(imaplib.IMAP4):
    """A client of the IMAP server in this program."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__()

    def _create_socket(self, _timeout: float | None) -> socket.socket:
        return connected(self._path, _SECONDS)


class Mailboxes:
    """The accounts of the server behind a Unix socket; every call logs in anew."""

    def __init__(self, path: Path, accounts: Mapping[str, str], outbox_password: str) -> None:
        self._path = path
        self._outbox_password = outbox_password
        self.accounts = accounts
        """Passwords by address, without the outbox."""

    def create(self, account: str, mailbox: str) -> None:
        """Make a mailbox if it does not exist.

        Raises:
            imaplib.IMAP4.error: the server refuses.
        """
        with self._logged_in(account) as client:
            _create(client, mailbox)

    def append(
        self, account: str, mailbox: str, messages: Sequence[bytes], flags: Sequence[str] = ()
    ) -> None:
        """Add messages in this order to a mailbox, which is made if it does not exist.

        Raises:
            imaplib.IMAP4.error: the server refuses.
        """
        with self._logged_in(account) as client:
            _create(client, mailbox)
            for message in messages:
                now = imaplib.Time2Internaldate(time.time())
                _require(client.append(_quoted(mailbox), " ".join(flags), now, message))

    def names(self, account: str) -> list[str]:
        """Return the names of an account's mailboxes.

        Raises:
            imaplib.IMAP4.error: the server refuses.
        """
        with self._logged_in(account) as client:
            return sorted(_names(client))

    def messages(self, account: str) -> Iterator[tuple[str, tuple[str, ...], bytes]]:
        """Yield mailbox, flags and bytes of each message, in order of arrival in its mailbox.

        Raises:
            imaplib.IMAP4.error: the server refuses.
        """
        with self._logged_in(account) as client:
            for name in sorted(_names(client)):
                _require(client.select(_quoted(name), readonly=True))
                for uid in _require(client.uid("SEARCH", "ALL"))[0].split():
                    found = _require(client.uid("FETCH", uid.decode(), "(FLAGS BODY.PEEK[])"))
                    yield name, *_fetched(found)

    @contextmanager
    def _logged_in(self, account: str) -> Iterator[imaplib.IMAP4]:
        password = self._outbox_password if account == OUTBOX else self.accounts[account]
        client = _UnixIMAP(self._path)
        try:
            client.login(account, password)
            yield client
        finally:
            client.logout()


def write_state(boxes: Mailboxes, folder: Path) -> str:
    """Write each message to `<account>/<mailbox>/<number>.eml` and all to `messages.csv`.

    Returns:
        How many there were.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    count = 0
    with (folder / "messages.csv").open("w", encoding="utf-8", errors="replace", newline="") as out:
        table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        table.writeheader()
        for account in (*boxes.accounts, OUTBOX):
            numbers: dict[str, int] = {}
            for mailbox, flags, data in boxes.messages(account):
                numbers[mailbox] = numbers.get(mailbox, 0) + 1
                inner = "" if account == OUTBOX else f"{plain(mailbox)}/"
                name = f"{_file_name(account)}/{inner}{numbers[mailbox]:04d}.eml"
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
                own = {"account": account, "mailbox": mailbox, "file": name}
                table.writerow(own | {"flags": " ".join(flags)} | _fields(data))
                count += 1
    return f"{count} messages"


def _file_name(account: str) -> str:
    # An address may hold dots, which are harmless behind its first letter.
    return plain(account).replace("%2e", ".")


def _create(client: imaplib.IMAP4, mailbox: str) -> None:
    if mailbox not in _names(client):
        _require(client.create(_quoted(mailbox)))


def _names(client: imaplib.IMAP4) -> list[str]:
    names = []
    for item in _require(client.list()):
        line, literal = item if isinstance(item, tuple) else (item, None)
        found = _LISTED.match(line or b"")
        if found is None or b"\\Noselect" in found["flags"]:
            continue
        name = found["name"] if literal is None else literal
        if literal is None and name.startswith(b'"'):
            name = re.sub(rb"\\(.)", rb"\1", name[1:-1])
        names.append(name.decode("utf-8", "surrogateescape"))
    return names


def _quoted(mailbox: str) -> str:
    escaped = mailbox.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _require(answer: tuple[str, list[Any]]) -> list[Any]:
    kind, data = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"the server answered {kind} {data!r}"[:300])
    return data


def _fetched(answer: list[Any]) -> tuple[tuple[str, ...], bytes]:
    """Return flags and bytes; flags may stand before or after the message."""
    data = next((item[1] for item in answer if isinstance(item, tuple)), b"")
    around = b" ".join(item[0] if isinstance(item, tuple) else item or b"" for item in answer)
    flags = (flag.decode("utf-8", "replace") for flag in imaplib.ParseFlags(around))
    # `Recent` depends on who reads the mailbox.
    return tuple(sorted(flag for flag in flags if flag != "\\Recent")), data


def _fields(data: bytes) -> dict[str, str]:
    """Return the cells of a message; empty if the message cannot be parsed."""
    try:
        message = email.message_from_bytes(data)
        parts = [part for part in message.walk() if not part.is_multipart()]
        names = [name for part in parts if (name := _header(part.get_filename()))]
        text = next((_text(part) for part in parts if _is_text(part)), "")
        shown = {name: _header(message[name]) for name in ("from", "to", "cc", "subject", "date")}
        delivered = "; ".join(_header(value) for value in message.get_all("delivered-to", []))
    except Exception:  # noqa: BLE001 anybody writes messages, and the parser raises anything
        return {}
    return {**shown, "delivered_to": delivered, "attachments": "; ".join(names), "text": text}


def _is_text(part: Message) -> bool:
    return part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment"


def _header(value: Any) -> str:
    if value is None:
        return ""
    try:
        text = str(make_header(decode_header(value)))
    except (MessageError, ValueError, LookupError):
        text = str(value)
    return " ".join(text.replace("\0", "").split())


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        text = data.decode(part.get_content_charset("utf-8"), "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
    return text.replace("\0", "").replace("\r\n", "\n").strip()[:_MAX_TEXT]
