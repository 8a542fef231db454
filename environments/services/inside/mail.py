"""A mail server: aiosmtpd takes messages in, pymap keeps them and shows them over IMAP.

Mailboxes are in memory, because nothing survives the trial and pymap's Maildir backend loses the
text of copied messages (0.36.7). Messages that are delivered, brought by the task or written down
at the end go over IMAP as well, so there is one way to access a mailbox. No mail leaves the
sandbox: messages to unknown recipients end in an outbox.
"""

import asyncio
import imaplib
import secrets
import smtplib
import socket
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import parseaddr
from pathlib import Path

from aiosmtpd import __version__ as aiosmtpd_version
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from proxyprotocol.sock import SocketInfoLocal
from pymap.__about__ import __version__ as pymap_version
from pymap.backend.dict import Config, DictBackend, Login
from pymap.imap import IMAPServer
from pymap.user import UserMetadata
from pysasl.hashing import Cleartext

from environments.services.inside import kept_mail
from environments.services.inside.lines import (
    ALIVE,
    INPUT,
    KEEP,
    KEPT,
    OUTPUT,
    RENEW,
    SOCKETS,
    STATE,
    orders,
    say,
    settings,
)
from environments.services.inside.mailboxes import OUTBOX, Mailboxes, connected, write_state
from environments.services.inside.template import KEPT_MOUNT

_SMTP = SOCKETS / "smtp" / "socket"
_IMAP = SOCKETS / "imap" / "socket"
_MAX_MESSAGE_BYTES = 25_000_000
_CLIENT_SECONDS = 30.0
_USUAL = ("Sent", "Drafts", "Trash")
"""Mailboxes that every account has beside its INBOX."""


class _Delivery:
    """Answers aiosmtpd's questions about recipients and delivers messages."""

    def __init__(self, boxes: Mailboxes) -> None:
        self._boxes = boxes

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Deliver once to each account, and to the outbox for all other recipients."""
        content = envelope.content or b""
        message = content if isinstance(content, bytes) else content.encode()
        known: list[str] = []
        strangers: list[str] = []
        for recipient in dict.fromkeys(envelope.rcpt_tos):
            address = parseaddr(recipient)[1].lower()
            (known if address in self._boxes.accounts else strangers).append(address)
        try:
            for address in dict.fromkeys(known):
                await self._deliver(address, "INBOX", [address], envelope, message)
            if strangers:
                await self._deliver(OUTBOX, "INBOX", strangers, envelope, message)
        except (imaplib.IMAP4.error, OSError) as error:
            return f"451 4.3.0 not delivered: {' '.join(str(error).split())[:200]}"
        return "250 2.0.0 delivered"

    async def _deliver(
        self, account: str, mailbox: str, recipients: list[str], envelope: Envelope, message: bytes
    ) -> None:
        sender = parseaddr(envelope.mail_from or "")[1]
        lines = [f"Return-Path: <{sender}>", *(f"Delivered-To: {to}" for to in recipients)]
        header = "".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape")
        await asyncio.to_thread(self._boxes.append, account, mailbox, [header + message])


def _smtp(boxes: Mailboxes) -> SMTP:
    def is_account(
        _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: object
    ) -> AuthResult:
        if not isinstance(data, LoginPassword):
            return AuthResult(success=False, handled=False)
        name = data.login.decode("utf-8", "replace").lower()
        expected = boxes.accounts.get(name)
        given = data.password.decode("utf-8", "replace")
        return AuthResult(success=expected is not None and expected == given, handled=False)

    return SMTP(
        _Delivery(boxes),
        data_size_limit=_MAX_MESSAGE_BYTES,
        enable_SMTPUTF8=True,
        hostname="localhost",
        ident="mail",
        authenticator=is_account,
        # The only way in is an exposed port of the same trial.
        auth_require_tls=False,
    )


@asynccontextmanager
async def _imap(accounts: dict[str, str]) -> AsyncIterator[Callable[[], None]]:
    """Serve mailboxes, and yield what removes all of them."""
    config = Config(
        # Options that pymap's command line would set.
        Namespace(proxy_protocol=None, passlib_cfg=None),
        host=None,
        port=0,
        tls_enabled=False,
        hash_context=Cleartext(),
        max_append_len=2 * _MAX_MESSAGE_BYTES,
        demo_data=False,
        demo_user="",
        demo_password="",
    )
    backend = DictBackend(Login(config), config)
    for address, password in accounts.items():
        user = UserMetadata(config, address, password=password)
        backend.login.users_dict[address] = user
    config.apply_context()
    serve = IMAPServer(backend.login, config)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, SocketInfoLocal(writer))

    server = await asyncio.start_unix_server(converse, path=_IMAP, limit=1 << 20)
    async with server:
        yield config.set_cache.clear


async def _serve() -> int:
    given = await asyncio.to_thread(settings)
    accounts: dict[str, str] = given["accounts"]
    outbox_password = secrets.token_hex(16)
    boxes = Mailboxes(_IMAP, accounts, outbox_password)
    kept = Path(KEPT_MOUNT) if given.get("is_kept") else None
    async with _imap(accounts | {OUTBOX: outbox_password}) as forget:

        def renewed() -> str:
            forget()
            return _filled(boxes, kept)

        work = {
            STATE: ("done", lambda: write_state(boxes, OUTPUT / STATE)),
            KEEP: (KEPT, lambda: kept_mail.keep(boxes, OUTPUT / KEPT / KEPT)),
            RENEW: ("done", renewed),
            ALIVE: (ALIVE, lambda: _healthy(boxes)),
        }
        loop = asyncio.get_running_loop()
        async with await loop.create_unix_server(lambda: _smtp(boxes), path=_SMTP):
            for place in (_SMTP, _IMAP):
                # Client programs run as another user.
                place.chmod(0o777)
            code = await _reported("ready", lambda: _filled(boxes, kept))
            waiting = orders()
            while code == 0 and (order := await asyncio.to_thread(next, waiting, None)):
                code = await _reported(*work[order])
    return code


async def _reported(key: str, work: Callable[[], str]) -> int:
    """Do `work` and tell the host how it went."""
    try:
        say(**{key: await asyncio.to_thread(work)})
    except (imaplib.IMAP4.error, smtplib.SMTPException, OSError) as error:
        say(failed=" ".join(str(error).split())[:500])
        return 1
    return 0


def _filled(boxes: Mailboxes, kept: Path | None) -> str:
    """Add what was kept, or the task's messages; return the versions of the healthy servers."""
    if kept is None:
        _fill(boxes)
    else:
        kept_mail.fill(boxes, kept)
    return _healthy(boxes)


def _fill(boxes: Mailboxes) -> None:
    for address in boxes.accounts:
        for mailbox in _USUAL:
            boxes.create(address, mailbox)
    messages: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for path in sorted(INPUT.rglob("*.eml")):
        address, *folders, _ = path.relative_to(INPUT).parts
        messages[address, "/".join(folders)].append(path.read_bytes())
    for (address, mailbox), found in messages.items():
        boxes.append(address, mailbox, found)


def _healthy(boxes: Mailboxes) -> str:
    """Ask both servers anything and return their versions."""
    boxes.names(OUTBOX)
    with _UnixSMTP() as client:
        client.noop()
    return f"aiosmtpd {aiosmtpd_version}, pymap {pymap_version}"


class _UnixSMTP(smtplib.SMTP):
    """A client of the SMTP server in this program."""

    def __init__(self) -> None:
        super().__init__("localhost", timeout=_CLIENT_SECONDS)

    def _get_socket(self, _host: str, _port: int, timeout: float) -> socket.socket:
        return connected(_SMTP, timeout)


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve()))
