"""The readable text of a view, for the checks that search texts."""

import json

from taskdata.schema.views import (
    ArchiveView,
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    MailView,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    SvgView,
    Table,
    TextView,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)

MediaView = ImageView | AudioView | VideoView


def searchable_text(evidence: View | str) -> str:
    """Return the text that text checks search: what a reader of the document sees.

    Tables are included; a document's header and footer are not.
    """
    if isinstance(evidence, str):
        return evidence
    if isinstance(evidence, TextView | HtmlView):
        return evidence.text
    if isinstance(evidence, DocumentView):
        return "\n".join(
            [*(p.text for p in evidence.paragraphs), *map(table_text, evidence.tables)]
        )
    if isinstance(evidence, PdfView):
        return "\n".join(page.text for page in evidence.pages)
    if isinstance(evidence, SlidesView):
        return "\n".join(map(slide_text, evidence.slides))
    return _told(evidence)


def _told(
    view: UnreadableView
    | CsvView
    | JsonView
    | WorkbookView
    | MailView
    | SvgView
    | ArchiveView
    | MediaView,
) -> str:
    if isinstance(view, UnreadableView):
        return f"(this file cannot be read: {view.reason})"
    if isinstance(view, CsvView):
        return table_text(view.table)
    if isinstance(view, JsonView):
        return json.dumps(view.value, ensure_ascii=False, indent=1)
    if isinstance(view, WorkbookView):
        return "\n\n".join(map(_sheet_text, view.sheets))
    if isinstance(view, MailView):
        return _mail_text(view)
    if isinstance(view, SvgView):
        return "\n".join([*([view.title] if view.title else []), *view.texts])
    if isinstance(view, ArchiveView):
        return "\n".join(f"{entry.name}: {entry.size_bytes:,} bytes" for entry in view.entries)
    return media_text(view)


def table_text(table: Table) -> str:
    """Return the table, one row a line."""
    return "\n".join(" | ".join(row) for row in table.rows)


def slide_text(slide: Slide) -> str:
    """Return what is on a slide, without its notes."""
    runs = "\n".join(run.text for run in slide.runs)
    return "\n".join([runs, *map(table_text, slide.tables)])


def _sheet_text(sheet: Sheet) -> str:
    charts = f", charts: {', '.join(sheet.charts)}" if sheet.charts else ""
    lines = [f"[sheet {sheet.name}: {sheet.rows} rows, {sheet.columns} columns{charts}]"]
    for address, cell in sheet.cells.items():
        formula = f"  {cell.formula}" if cell.formula else ""
        lines.append(f"{address}: {'' if cell.value is None else cell.value}{formula}")
    return "\n".join(lines)


def _mail_text(view: MailView) -> str:
    lines = [f"{name}: {value}" for name, value in view.headers]
    lines += ["", view.text]
    lines += [
        f"[attachment {attached.name}: {attached.media_type}, {attached.size_bytes:,} bytes]"
        for attached in view.attachments
    ]
    return "\n".join(lines)


def media_text(view: MediaView) -> str:
    """Return the measurements of a picture, a sound or a video as text."""
    if isinstance(view, VideoView):
        return (
            f"(video: {view.seconds:.2f} s, {view.width} x {view.height} pixels, "
            f"{view.frames_per_second:.1f} frames a second, "
            f"{'with' if view.has_sound else 'without'} sound)"
        )
    if isinstance(view, AudioView):
        return (
            f"(sound: {view.seconds:.2f} s, {view.sample_rate} Hz, {view.channels} channels, "
            f"peak {view.peak:.3f}, RMS {view.rms:.3f})"
        )
    commonest = sorted(view.colours.items(), key=lambda item: -item[1])[:8]
    colours = ", ".join(f"#{colour} {part:.0%}" for colour, part in commonest)
    return f"(image: {view.format}, {view.width} x {view.height} pixels; colours: {colours})"
