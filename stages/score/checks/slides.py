"""Checks of PPTX presentations."""

from typing import Annotated, Literal

from pydantic import Field

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    CountArgs,
    Groups,
    Names,
    Verdict,
    failed,
    holds,
    share,
    within,
)
from stages.score.checks.text import groups_found, titles_found
from stages.score.grids import bounds
from stages.score.matching import fold, listed
from stages.score.numbers import plain
from stages.score.plain_text import slide_text
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import SlidesView


class PptxSlides(CountArgs):
    """Number of slides."""


def pptx_slides(view: SlidesView, args: PptxSlides) -> Verdict:
    """Give 10 when the number of slides that are not hidden is within the bounds."""
    found = len(view.slides)
    least = max(1, args.min or 0)
    reason = f"{found} slides; expected {bounds(args.min, args.max)}"
    return within(found, least, args.max, reason)


class PptxTitles(CheckArgs):
    """These texts occur in slide titles, each in one of its own.

    A title has at most 25 words, and one that names several of the texts counts for none. With more
    than three times as many slides as titles are expected, and five more, the score falls in
    proportion.
    """

    expected: Names
    in_order: bool = True


def pptx_titles(view: SlidesView, args: PptxTitles) -> Verdict:
    """Give the share of expected titles found, in order where that is asked."""
    found = [fold(slide.title) for slide in view.slides]
    return titles_found(found, args.expected, args.in_order, "titles")


class PptxTextSize(CheckArgs):
    """No text smaller than this; text whose size the file does not state counts as smaller."""

    min_pt: float = Field(gt=0, allow_inf_nan=False)
    scope: Literal["body", "title", "all"] = "all"


def pptx_text_size(view: SlidesView, args: PptxTextSize) -> Verdict:
    """Give the share of text runs that are large enough."""
    runs = [
        run
        for slide in view.slides
        for run in slide.runs
        if args.scope == "all" or run.is_title == (args.scope == "title")
    ]
    if not runs:
        scope = "" if args.scope == "all" else f"{args.scope} "
        return failed(f"there is no {scope}text", Shortcoming.NO_TEXT)
    sizes = [run.size_pt for run in runs]
    right = sum(size is not None and size >= args.min_pt for size in sizes)
    known = [size for size in sizes if size is not None]
    smallest = f"the smallest has {plain(min(known))} pt" if known else "no size is stated"
    reason = f"{right} of {len(runs)} texts have {plain(args.min_pt)} pt or more; {smallest}"
    return share(right, len(runs), reason)


class PptxWordsPerSlide(CheckArgs):
    """No slide has more words than this."""

    max: Annotated[int, Field(ge=1)]


def pptx_words_per_slide(view: SlidesView, args: PptxWordsPerSlide) -> Verdict:
    """Give the share of slides with few enough words, notes and tables not counted."""
    words = [sum(len(run.text.split()) for run in slide.runs) for slide in view.slides]
    if not any(words):
        return failed("there is no text on any slide", Shortcoming.NO_TEXT)
    right = sum(count <= args.max for count in words)
    reason = f"{right} of {len(words)} slides have {args.max} words or fewer; most: {max(words)}"
    return share(right, len(words), reason)


class PptxNotes(CheckArgs):
    """Speaker notes of at least this many words, on all slides or on any."""

    min_words: Annotated[int, Field(ge=1)]
    slides: Literal["all", "any"] = "all"


def pptx_notes(view: SlidesView, args: PptxNotes) -> Verdict:
    """Give the share of slides with notes, or 10 for any one."""
    if not view.slides:
        return failed("there are no slides", Shortcoming.NO_SLIDE)
    right = sum(len(slide.notes.split()) >= args.min_words for slide in view.slides)
    reason = f"{right} of {len(view.slides)} slides have notes of {args.min_words} words or more"
    if args.slides == "any":
        return holds(right > 0, reason)
    return share(right, len(view.slides), reason)


class AtLeast(CheckArgs):
    """At least this many."""

    min: Annotated[int, Field(ge=1)] = 1


def pptx_charts(view: SlidesView, args: AtLeast) -> Verdict:
    """Give the share of the native charts asked for."""
    kinds = [kind for slide in view.slides for kind in slide.charts]
    reason = f"{len(kinds)} charts ({listed(kinds) or 'none'}); expected {args.min}"
    return share(len(kinds), args.min, reason)


def pptx_images(view: SlidesView, args: AtLeast) -> Verdict:
    """Give the share of the images asked for."""
    found = sum(slide.images for slide in view.slides)
    return share(found, args.min, f"{found} images; expected {args.min}")


class PptxSlideContains(CheckArgs):
    """Texts on one slide."""

    slide: Annotated[int, Field(ge=1)]
    all: Groups


def pptx_slide_contains(view: SlidesView, args: PptxSlideContains) -> Verdict:
    """Give the share of groups of which an alias is on the slide."""
    if args.slide > len(view.slides):
        reason = f"there is no slide {args.slide}; there are {len(view.slides)}"
        return failed(reason, Shortcoming.NO_SLIDE)
    slide = view.slides[args.slide - 1]
    return groups_found(slide_text(slide), args.all, f"slide {args.slide}", slide.tables)


class PptxTextFits(CheckArgs):
    """No text runs out of its shape or off the slide, as far as that can be estimated.

    Widths are those of common sans-serif letters; text fits up to an excess of 15 %.
    """


def pptx_text_fits(view: SlidesView, args: PptxTextFits) -> Verdict:
    """Give the share of slides on which all text fits."""
    if not any(slide.runs for slide in view.slides):
        return failed("there is no text on any slide", Shortcoming.NO_TEXT)
    faults = [
        f"{number}: {text}"
        for number, slide in enumerate(view.slides, 1)
        for text in slide.overflowing
    ]
    right = sum(not slide.overflowing for slide in view.slides)
    where = f"; too long on slide {listed(faults)}" if faults else ""
    return share(
        right, len(view.slides), f"text fits on {right} of {len(view.slides)} slides{where}"
    )


_VIEWS = (SlidesView,)
CHECKS = (
    CheckSpec("pptx_slides", PptxSlides, _VIEWS, pptx_slides),
    CheckSpec("pptx_titles", PptxTitles, _VIEWS, pptx_titles, version=3),
    CheckSpec("pptx_text_size", PptxTextSize, _VIEWS, pptx_text_size),
    CheckSpec("pptx_words_per_slide", PptxWordsPerSlide, _VIEWS, pptx_words_per_slide),
    CheckSpec("pptx_text_fits", PptxTextFits, _VIEWS, pptx_text_fits),
    CheckSpec("pptx_notes", PptxNotes, _VIEWS, pptx_notes),
    CheckSpec("pptx_charts", AtLeast, _VIEWS, pptx_charts),
    CheckSpec("pptx_images", AtLeast, _VIEWS, pptx_images),
    CheckSpec("pptx_slide_contains", PptxSlideContains, _VIEWS, pptx_slide_contains, version=2),
)
