"""What pictures and documents can come to in tokens, which their bytes do not tell."""

import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from environments.models.money.media import page_tokens
from environments.models.money.spending import call_bound
from environments.ports import Media, Message, ModelRequest

PUBLISHED_LEAST = 1_500
"""Tokens of a page's text at least, by Anthropic; its picture comes on top."""


def document(pages: int) -> bytes:
    """Return a PDF of pages that say next to nothing."""
    written = io.BytesIO()
    canvas = Canvas(written)
    for number in range(pages):
        canvas.drawString(72, 720, f"Page {number}")
        canvas.showPage()
    canvas.save()
    return written.getvalue()


@pytest.mark.parametrize("pages", [1, 7, 100])
def test_every_page_of_a_document_counts(pages):
    assert page_tokens(document(pages)) == pages * 10_000


def test_a_sparse_document_is_bounded_by_its_pages_and_a_dense_one_by_its_bytes_too():
    data = document(100)
    request = ModelRequest(
        messages=(Message("user", "", media=(Media("application/pdf", data),)),), max_tokens=1
    )
    assert len(data) < 100 * PUBLISHED_LEAST < call_bound(request, None).tokens
    assert call_bound(request, None).tokens > page_tokens(data) + len(data)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.booleans())
def test_pages_that_are_packed_together_count_as_well(streams, in_one_line):
    end = b" " if in_one_line else b"\r\n"
    written = b"%PDF-1.7\n<< /Type /Pages /Kids [3 0 R] >>\n<</Type/Page/Parent 2 0 R>>\n"
    for pages in streams:
        packed = zlib.compress(b"<</Type/Page>> << /Type /PageLabel >>" * pages)
        head = b"<</Length %d%s/Type/ObjStm /Filter/FlateDecode>>" % (len(packed), end)
        written += head + b"\nstream\n" + packed + b"\nendstream\n"
    assert page_tokens(written) == (1 + sum(streams)) * 10_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.7 encrypted",
        b"/Type /ObjStm",
        b"/Type /ObjStm stream\nnot zlib",
        b"/Type /ObjStm" * 5_000,
    ],
)
def test_a_document_without_a_page_to_see_is_taken_for_a_long_one(data):
    assert page_tokens(data) == 1_000_000


@given(st.binary(max_size=300))
def test_whatever_is_called_a_document_has_a_bound(data):
    assert page_tokens(b"/Type /ObjStm stream\n" + data) >= 10_000
