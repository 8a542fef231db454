"""What text checks look through, and what a judge is told of a file."""

from stages.score.plain_text import described, searchable_text
from taskdata.schema.views import (
    Attachment,
    DocumentView,
    MailView,
    Paragraph,
    Slide,
    SlidesView,
    TextRun,
    UnreadableView,
)

MAIL = MailView(
    headers=(("From", "ann@example.org"), ("Subject", "Plan")),
    text="See the plan.",
    attachments=(Attachment(name="plan.pdf", media_type="application/pdf", size_bytes=1234),),
)


def test_a_message_is_told_with_its_headers_and_what_is_attached():
    assert described(MAIL).splitlines() == [
        "From: ann@example.org",
        "Subject: Plan",
        "",
        "See the plan.",
        "[attachment plan.pdf: application/pdf, 1,234 bytes]",
    ]


def test_only_the_judge_is_told_what_stands_at_the_edges():
    document = DocumentView(
        paragraphs=(Paragraph(text="Report", level=1), Paragraph(text="All is well.")),
        header="Draft",
        footer="Page 1",
    )
    assert searchable_text(document) == "Report\nAll is well."
    assert described(document) == "[header] Draft\n# Report\nAll is well.\n[footer] Page 1"


def test_only_the_judge_is_told_the_notes_of_a_slide():
    slide = Slide(title="Plan", runs=(TextRun(text="Plan", is_title=True),), notes="Smile")
    deck = SlidesView(slides=(slide,), width_pt=720, height_pt=540)
    assert searchable_text(deck) == "Plan"
    assert described(deck) == "[slide 1: Plan]\nPlan\n[notes] Smile"


def test_an_unreadable_file_says_why():
    assert "not a ZIP" in described(UnreadableView(reason="not a ZIP"))
