from email.message import EmailMessage

import pytest

from environments.renderers.limits import Unreadable
from environments.renderers.mail import read_mail
from taskdata.schema.views import Attachment


@pytest.fixture
def file(tmp_path):
    def write(message: EmailMessage | bytes):
        path = tmp_path / "message.eml"
        path.write_bytes(message if isinstance(message, bytes) else bytes(message))
        return path

    return write


@pytest.fixture
def message():
    made = EmailMessage()
    made["From"] = "Zoë <zoe@example.org>"
    made["To"] = "bob@example.org"
    made["Subject"] = "Größe der Kisten"
    made.set_content("Hello Bob,\n\nthe crates are ready. — Zoë\n")
    return made


def test_headers_are_decoded_and_in_order(file, message):
    assert read_mail(file(message)).headers[:3] == (
        ("From", "Zoë <zoe@example.org>"),
        ("To", "bob@example.org"),
        ("Subject", "Größe der Kisten"),
    )


def test_the_text_is_decoded(file, message):
    view = read_mail(file(message))
    assert view.text == "Hello Bob,\n\nthe crates are ready. — Zoë"
    assert view.attachments == ()


def test_attachments_have_name_type_and_decoded_size(file, message):
    message.add_attachment(b"\0" * 1000, maintype="application", subtype="pdf", filename="ä.pdf")
    message.add_attachment("a,b\n", subtype="csv", filename="crates.csv")
    message.add_attachment(b"glyphs", maintype="font", subtype="ttf")
    view = read_mail(file(message))
    assert view.attachments == (
        Attachment(name="ä.pdf", media_type="application/pdf", size_bytes=1000),
        Attachment(name="crates.csv", media_type="text/csv", size_bytes=4),
        Attachment(name="", media_type="font/ttf", size_bytes=6),
    )
    assert view.text.startswith("Hello Bob")


def test_a_forwarded_message_is_an_attachment_and_its_text_is_not_the_messages(file, message):
    forwarding = EmailMessage()
    forwarding["Subject"] = "Fwd: crates"
    forwarding.set_content("See below.")
    forwarding.add_attachment(message)
    view = read_mail(file(forwarding))
    assert view.text == "See below."
    (forwarded,) = view.attachments
    assert forwarded.media_type == "message/rfc822"
    assert forwarded.size_bytes == len(bytes(message))


def test_of_two_versions_the_plain_one_is_the_text(file, message):
    message.add_alternative("<p>Hello <b>Bob</b></p>", subtype="html")
    assert read_mail(file(message)).text.startswith("Hello Bob,\n\nthe crates")


def test_html_alone_is_read_as_its_reader_sees_it(file):
    page = EmailMessage()
    page["Subject"] = "News"
    page.set_content("<p>Hello</p><p hidden>for the grader</p><p>Bob</p>", subtype="html")
    assert read_mail(file(page)).text == "Hello\nBob"


def test_all_texts_of_a_message_are_read(file):
    parts = b"".join(
        b"--x\nContent-Type: text/plain\n\n%s\n" % text for text in (b"first", b"second")
    )
    mixed = b"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n" + parts + b"--x--\n"
    assert read_mail(file(mixed)).text == "first\n\nsecond"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\nHello Bob", "no header"),
        (b"Subject: a\nContent-Type: multipart/mixed\n\nHello", "where they begin"),
        (
            b"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\na\n" * 1_001,
            "parts",
        ),
        (b"Subject: a\n\n" + b"x" * 1_000_001, "characters"),
    ],
    ids=["no header", "no boundary", "too many parts", "too much text"],
)
def test_what_is_no_message_or_too_much_of_one_is_unreadable(file, content, reason):
    with pytest.raises(Unreadable, match=reason):
        read_mail(file(content))
