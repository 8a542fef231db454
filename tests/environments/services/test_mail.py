"""A task's own mail server: SMTP and IMAP for its trial, all mailboxes at the end."""

import csv
import email
import io

from hypothesis import given
from hypothesis import strategies as st

from environments.services.inside.lines import plain
from environments.services.inside.mailboxes import COLUMNS, _fields

READ_AND_SEND = """
import imaplib, os, smtplib
from email.message import EmailMessage
box = imaplib.IMAP4(os.environ["IMAP_HOST"], int(os.environ["IMAP_PORT"]))
box.login("ann@example.org", "agent")
print(box.select("INBOX"), box.search(None, "SUBJECT", "Caf"))
print(b"At noon?" in box.fetch("1", "(RFC822)")[1][0][1])
box.store("1", "+FLAGS", "\\\\Flagged")
box.create("Archive")
box.copy("1", "Archive")
print(box.append("Drafts", "\\\\Draft", None, b"Subject: later\\r\\n\\r\\nNot yet.\\r\\n")[0])
box.logout()
message = EmailMessage()
message["From"], message["To"] = "ann@example.org", "Bob <bob@example.org>, eve@elsewhere.net"
message["Subject"] = "Übersicht"
message.set_content("Seven plums.")
message.add_attachment(b"a,b", maintype="text", subtype="csv", filename="plums.csv")
with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as server:
    server.login("ann@example.org", "agent")
    print(server.send_message(message))
box = imaplib.IMAP4("127.0.0.1", 1143)
box.login("bob@example.org", "agent")
print(box.select("INBOX"))
"""


def rows(state: dict[str, str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(state["services/post/messages.csv"])))


def test_an_agent_reads_and_sends_and_the_end_is_written_down(provider, night, post):
    said, state = night.over(provider, READ_AND_SEND, post)

    assert said.splitlines() == [
        "('OK', [b'1']) ('OK', [b'1'])",
        "True",
        "OK",
        "{}",
        "('OK', [b'1'])",
    ]
    found = [(r["account"], r["mailbox"], r["subject"], r["flags"]) for r in rows(state)]
    assert found == [
        ("ann@example.org", "Archive", "Café", "\\Flagged \\Seen"),
        ("ann@example.org", "Drafts", "later", "\\Draft"),
        ("ann@example.org", "INBOX", "Café", "\\Flagged \\Seen"),
        ("ann@example.org", "Projects/2025", "Old", ""),
        ("bob@example.org", "INBOX", "Übersicht", ""),
        ("outbox", "INBOX", "Übersicht", ""),
    ]
    received, sent = rows(state)[-2:]
    assert received["delivered_to"] == "bob@example.org"
    assert sent["delivered_to"] == "eve@elsewhere.net"
    assert sent["to"] == "Bob <bob@example.org>, eve@elsewhere.net"
    assert (sent["text"], sent["attachments"]) == ("Seven plums.", "plums.csv")
    kept = email.message_from_string(state["services/post/outbox/0001.eml"])
    assert kept["Return-Path"] == "<ann@example.org>"
    assert "services/post/ann@example.org/Projects%2f2025/0001.eml" in state


def test_only_accounts_get_in_and_nobody_reads_the_outbox(bubblewrap, night, post):
    said, _ = night.over(
        bubblewrap,
        "import imaplib, smtplib\n"
        "ann, eve, outbox = 'ann@example.org', 'eve@elsewhere.net', 'outbox'\n"
        "for who in ((ann, 'wrong'), (eve, 'agent'), (outbox, '')):\n"
        "    try: imaplib.IMAP4('127.0.0.1', 1143).login(*who)\n"
        "    except imaplib.IMAP4.error: print('no')\n"
        "    try: smtplib.SMTP('127.0.0.1', 1025).login(*who)\n"
        "    except smtplib.SMTPAuthenticationError: print('no')\n",
        post,
    )

    assert said == "no\n" * 6


def test_whatever_is_sent_the_end_can_be_written_down(bubblewrap, night, post):
    said, state = night.over(
        bubblewrap,
        "import imaplib, smtplib\n"
        "server = smtplib.SMTP('127.0.0.1', 1025)\n"
        "odd = [b'', b'\\xff\\x00 no header', b'Subject: =?rot13?q?x?=\\r\\n\\r\\nx',\n"
        "    b'Content-Type: multipart/mixed; boundary=b\\r\\n\\r\\n' + b'--b\\r\\n' * 50,\n"
        "    b'From: ' + b'a' * 900 + b'\\r\\nSubject: =?utf-8?b?not base64?=\\r\\n\\r\\n']\n"
        "for message in odd:\n"
        "    server.sendmail('x@y.z', ['bob@example.org', '../../etc@[/]'], message)\n"
        "box = imaplib.IMAP4('127.0.0.1', 1143)\n"
        "box.login('ann@example.org', 'agent')\n"
        "for name in ('\"../../up\"', '\"a \\\\\"quote\"', 'x' * 200):\n"
        "    print(box.create(name)[0])\n"
        "    box.append(name, '', None, b'Subject: here\\r\\n\\r\\n')\n",
        post,
    )

    assert said == "OK\n" * 3
    assert sum(row["account"] == "bob@example.org" for row in rows(state)) == 5
    assert sum(row["subject"] == "here" for row in rows(state)) == 3
    assert not [name for name in state if ".." in name or not name.startswith("services/post/")]


def test_a_message_that_no_parser_takes_is_listed_and_kept(bubblewrap, night, post):
    broken = (
        'Content-Disposition: attachment; filename*0="a"; filename*=b\r\nSubject: hidden\r\n\r\nx'
    )

    _, state = night.over(
        bubblewrap,
        "import smtplib\n"
        "server = smtplib.SMTP('127.0.0.1', 1025)\n"
        f"server.sendmail('x@y.z', ['bob@example.org'], {broken!r})\n"
        "server.sendmail('x@y.z', ['bob@example.org'], 'Subject: fine\\r\\n\\r\\ny')\n",
        post,
    )

    listed = [row for row in rows(state) if row["account"] == "bob@example.org"]
    assert [row["subject"] for row in listed] == ["", "fine"]
    assert "Subject: hidden" in state[f"services/post/{listed[0]['file']}"]


@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_the_cells_of_any_bytes_are_text_in_known_columns(data: bytes):
    cells = _fields(b"Subject: " + data)

    assert cells.keys() <= set(COLUMNS)
    assert all("\0" not in cell for cell in cells.values())


@given(st.text(max_size=300))
def test_a_plain_name_stays_in_its_folder_and_is_short(name: str):
    made = plain(name)

    assert len(made) <= 70
    assert not set(made) & set("/\\. \n\0")
    assert made.isascii()
