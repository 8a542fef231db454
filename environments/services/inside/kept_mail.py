"""What a mail server held, in one file from which a server is filled again."""

import gzip
import json
from pathlib import Path
from typing import Any

from environments.services.inside.mailboxes import OUTBOX, Mailboxes


def keep(boxes: Mailboxes, target: Path) -> str:
    """Write all mailboxes with their messages and flags; return how many messages there were."""
    mailboxes, messages = [], []
    for account in (*boxes.accounts, OUTBOX):
        mailboxes += [[account, name] for name in boxes.names(account)]
        for mailbox, flags, data in boxes.messages(account):
            messages.append([account, mailbox, flags, data.decode("latin-1")])
    target.parent.mkdir()
    with gzip.open(target, "wt", encoding="utf-8", compresslevel=3) as file:
        json.dump({"mailboxes": mailboxes, "messages": messages}, file)
    return f"{len(messages)} messages"


def fill(boxes: Mailboxes, source: Path) -> None:
    """Add what `keep` has written to a server without mailboxes.

    Raises:
        OSError: the file cannot be read.
        imaplib.IMAP4.error: the server refuses.
    """
    try:
        with gzip.open(source, "rt", encoding="utf-8") as file:
            kept: dict[str, list[Any]] = json.load(file)
        for account, name in kept["mailboxes"]:
            boxes.create(account, name)
        for account, mailbox, flags, text in kept["messages"]:
            boxes.append(account, mailbox, [text.encode("latin-1")], flags)
    except (EOFError, ValueError, KeyError, TypeError) as error:
        raise OSError(f"the kept mail cannot be read: {error}") from error
