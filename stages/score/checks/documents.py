"""Checks of any file as such, of PDF and DOCX documents, and of HTML pages."""

import re
from typing import Annotated

from pydantic import Field

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    Count,
    CountArgs,
    Evidence,
    Groups,
    Names,
    Verdict,
    crowded,
    failed,
    holds,
    passed,
    share,
    within,
)
from stages.score.checks.text import groups_found
from stages.score.grids import bounds
from stages.score.matching import fold, listed, quote
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import (
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    PdfView,
    SlidesView,
    TextView,
    WorkbookView,
)

_IDS_PER_EXPECTED, _SPARE_IDS = 3, 30
_MM_PER_POINT = 25.4 / 72


class FileExists(CheckArgs):
    """Nothing more than a file that can be opened."""


def file_exists(view: Evidence, args: FileExists) -> Verdict:
    """Give 10: a missing or unreadable file never gets as far as its check."""
    return passed("the file was delivered and can be opened")


class PdfPages(CountArgs):
    """Number of pages."""


def pdf_pages(view: PdfView, args: PdfPages) -> Verdict:
    """Give 10 when the number of pages is within the bounds."""
    found = view.page_count
    return args.verdict(found, f"{found} pages; expected {bounds(args.min, args.max)}")


class PdfPageContains(CheckArgs):
    """Texts on one page."""

    page: Annotated[int, Field(ge=1)]
    all: Groups


def pdf_page_contains(view: PdfView, args: PdfPageContains) -> Verdict:
    """Give the share of groups of which an alias is on the page."""
    if args.page > len(view.pages):
        reason = f"there is no page {args.page}; there are {len(view.pages)}"
        return failed(reason, Shortcoming.NO_PAGE)
    page = view.pages[args.page - 1]
    return groups_found(page.text, args.all, f"page {args.page}", page.tables)


class PdfPageSize(CheckArgs):
    """Size of every page."""

    width_mm: float = Field(gt=0, allow_inf_nan=False)
    height_mm: float = Field(gt=0, allow_inf_nan=False)
    tolerance_mm: float = Field(default=2.0, ge=0, allow_inf_nan=False)


def pdf_page_size(view: PdfView, args: PdfPageSize) -> Verdict:
    """Give the share of pages of this size."""
    sizes = [(page.width * _MM_PER_POINT, page.height * _MM_PER_POINT) for page in view.pages]
    if not sizes:
        return failed("there are no pages", Shortcoming.NO_PAGE)
    right = sum(
        abs(width - args.width_mm) <= args.tolerance_mm
        and abs(height - args.height_mm) <= args.tolerance_mm
        for width, height in sizes
    )
    expected = f"expected {args.width_mm:g} x {args.height_mm:g} mm"
    first = f"the first has {sizes[0][0]:.0f} x {sizes[0][1]:.0f} mm"
    return share(right, len(sizes), f"{right} of {len(sizes)} pages fit: {first}; {expected}")


class AtLeast(CheckArgs):
    """At least this many."""

    min: Annotated[int, Field(ge=1)] = 1


def docx_images(view: DocumentView, args: AtLeast) -> Verdict:
    """Give the share of the images asked for."""
    return share(view.images, args.min, f"{view.images} images; expected {args.min}")


class DocxFooter(CheckArgs):
    """Texts in the footer."""

    all: Groups


def docx_footer(view: DocumentView, args: DocxFooter) -> Verdict:
    """Give the share of groups of which an alias is in the footer."""
    return groups_found(view.footer, args.all, "the footer")


class HtmlIds(CheckArgs):
    """Elements with these ids that a reader sees.

    With more than three times as many ids on the page, and thirty more, the score falls in
    proportion.
    """

    ids: Names


def html_ids(view: HtmlView, args: HtmlIds) -> Verdict:
    """Give the share of ids that are there; ids are case-sensitive."""
    right = sum(wanted in view.ids for wanted in args.ids)
    found = listed(view.ids, 8) or "none"
    verdict = share(right, len(args.ids), f"{right} of {len(args.ids)} ids; found: {found}")
    allowed = _IDS_PER_EXPECTED * len(args.ids) + _SPARE_IDS
    return crowded(verdict, len(view.ids), allowed, "ids")


class HtmlLinks(CheckArgs):
    """Links whose target has these texts in it.

    With more than three times as many targets on the page, and thirty more, the score falls in
    proportion.
    """

    all: Names


def html_links(view: HtmlView, args: HtmlLinks) -> Verdict:
    """Give the share of targets that some link has."""
    found = [fold(link) for link in view.links]
    right = sum(any(fold(wanted) in link for link in found) for wanted in args.all)
    reason = f"{right} of {len(args.all)} link targets; found: {listed(view.links) or 'none'}"
    allowed = _IDS_PER_EXPECTED * len(args.all) + _SPARE_IDS
    return crowded(share(right, len(args.all), reason), len(set(found)), allowed, "links")


def html_images(view: HtmlView, args: AtLeast) -> Verdict:
    """Give the share of the images asked for."""
    return share(len(view.images), args.min, f"{len(view.images)} images; expected {args.min}")


class AtMost(CheckArgs):
    """At most this many."""

    max: Count = 0


def html_scripts(view: HtmlView, args: AtMost) -> Verdict:
    """Give 10 when the page runs few enough scripts; an empty page does not count."""
    if not view.text:
        return failed("the page is empty", Shortcoming.NO_TEXT)
    reason = f"{view.scripts} scripts; expected {bounds(0, args.max)}"
    return within(view.scripts, 0, args.max, reason)


def html_external(view: HtmlView, args: AtMost) -> Verdict:
    """Give 10 when few enough images load from the network; an empty page does not count."""
    if not view.text:
        return failed("the page is empty", Shortcoming.NO_TEXT)
    loaded = [source for source in view.images if re.match(r"\s*(https?:)?//", source.lower())]
    reason = f"{len(loaded)} images from the network; expected {bounds(0, args.max)}"
    return within(len(loaded), 0, args.max, reason)


class HtmlLang(CheckArgs):
    """Language of the page."""

    lang: str = Field(min_length=2)


def html_lang(view: HtmlView, args: HtmlLang) -> Verdict:
    """Give 10 for this language, a region added or not (`en` accepts `en-GB`)."""
    found, expected = fold(view.lang), fold(args.lang)
    right = found == expected or found.startswith(f"{expected}-")
    return holds(right, f"lang is {quote(view.lang)}; expected {args.lang}")


_ANY = (
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    PdfView,
    SlidesView,
    TextView,
    WorkbookView,
)
CHECKS = (
    CheckSpec("file_exists", FileExists, _ANY, file_exists),
    CheckSpec("pdf_pages", PdfPages, (PdfView,), pdf_pages),
    CheckSpec("pdf_page_contains", PdfPageContains, (PdfView,), pdf_page_contains, version=2),
    CheckSpec("pdf_page_size", PdfPageSize, (PdfView,), pdf_page_size),
    CheckSpec("docx_images", AtLeast, (DocumentView,), docx_images),
    CheckSpec("docx_footer", DocxFooter, (DocumentView,), docx_footer, version=2),
    CheckSpec("html_ids", HtmlIds, (HtmlView,), html_ids, version=2),
    CheckSpec("html_links", HtmlLinks, (HtmlView,), html_links, version=2),
    CheckSpec("html_images", AtLeast, (HtmlView,), html_images),
    CheckSpec("html_scripts", AtMost, (HtmlView,), html_scripts),
    CheckSpec("html_external", AtMost, (HtmlView,), html_external),
    CheckSpec("html_lang", HtmlLang, (HtmlView,), html_lang),
)
