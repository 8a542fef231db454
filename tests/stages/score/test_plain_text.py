"""What text checks look through."""

from stages.score.plain_text import searchable_text
from taskdata.schema.views import (
    Attachment,
    DocumentView,
    MailView,
    Paragraph,
    Slide,
    SlidesView,
    TextRun,
)

MAIL = MailView(
    headers=(("From", "ann@example.org"), ("Subject", "Plan")),
    text="See the plan.",
    attachments=(Attachment(name="plan.pdf", media_type="application/pdf", size_bytes=1234),),
)


def test_a_message_is_told_with_its_headers_and_what_is_attached():
    assert searchable_text(MAIL).splitlines() == [
        "From: ann@example.org",
        "Subject: Plan",
        "",
        "See the plan.",
        "[attachment plan.pdf: application/pdf, 1,234 bytes]",
    ]


def test_what_stands_at_the_edges_is_not_searched():
    document = DocumentView(
        paragraphs=(Paragraph(text="Report", level=1), Paragraph(text="All is well.")),
        header="Draft",
        footer="Page 1",
    )
    assert searchable_text(document) == "Report\nAll is well."


def test_the_notes_of_a_slide_are_not_searched():
    slide = Slide(title="Plan", runs=(TextRun(text="Plan", is_title=True),), notes="Smile")
    deck = SlidesView(slides=(slide,), width_pt=720, height_pt=540)
    assert searchable_text(deck) == "Plan"
