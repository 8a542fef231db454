"""What can be seen of a deliverable without opening it: blocks of text, tables and notes.

Made from the structured view that a renderer read in the sandbox; the file itself is never opened
here. A block is `{"kind": ..., ...}` of kind `text`, `code`, `table` or `note`: the page knows no
others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, shown, shown_json
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
    SlidesView,
    SvgView,
    Table,
    TextView,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)

Block = dict[str, Any]


def preview(view: View, cap: Cap) -> list[Block]:
    """Return the blocks of a view; none at a cap that leaves no room for rows."""
    if not cap.rows:
        return [_note(f"{view.kind}: not shown, to keep this page small")]
    make: Callable[[Any, Cap], Iterator[Block]] = _BLOCKS[type(view)]
    return list(make(view, cap))


def _note(text: str) -> Block:
    return {"kind": "note", "text": text}


def _text(text: str, cap: Cap, title: str = "") -> Block:
    return {"kind": "text", "title": shown(title, cap.reason), "text": shown(text, cap.text)}


def _table(
    rows: Sequence[Sequence[str]], cap: Cap, title: str = "", sheet: Sheet | None = None
) -> Block:
    kept = rows[: cap.rows + 1]
    height = sheet.rows if sheet else len(rows)
    width = sheet.columns if sheet else max((len(row) for row in kept), default=0)
    more = [f"{height - len(kept):,} more rows"] if height > len(kept) else []
    more += [f"{width - cap.columns:,} more columns"] if width > cap.columns else []
    return {
        "kind": "table",
        "title": shown(title, cap.reason),
        "rows": [[shown(cell, cap.reason // 4) for cell in row[: cap.columns]] for row in kept],
        "more": ", ".join(more),
    }


def _left_out(total: int, cap: Cap, noun: str) -> Iterator[Block]:
    if total > cap.rows:
        yield _note(f"{formats.plural(total - cap.rows, f'more {noun}')}")


def _tables(tables: Sequence[Table], cap: Cap, title: str = "Table") -> Iterator[Block]:
    for number, table in enumerate(tables[: cap.rows], start=1):
        yield _table(table.rows, cap, f"{title} {number}")
    yield from _left_out(len(tables), cap, "table")


def _unreadable(view: UnreadableView, cap: Cap) -> Iterator[Block]:
    yield {"kind": "text", "title": "Could not be read", "text": shown(view.reason, cap.text)}


def _plain(view: TextView, cap: Cap) -> Iterator[Block]:
    yield _text(view.text, cap)


def _csv(view: CsvView, cap: Cap) -> Iterator[Block]:
    yield _table(view.table.rows, cap)


def _json(view: JsonView, cap: Cap) -> Iterator[Block]:
    yield {"kind": "code", "title": "", "text": shown_json(view.value, cap.text)}


def _workbook(view: WorkbookView, cap: Cap) -> Iterator[Block]:
    for sheet in view.sheets[: cap.rows]:
        facts = [f"{sheet.rows:,} rows × {sheet.columns:,} columns"]
        facts += [f"{chart} chart" for chart in sheet.charts[: cap.columns]]
        facts += ["hidden"] if sheet.hidden else []
        title = f"{sheet.name} ({', '.join(facts)})"
        yield _table(_grid(sheet, cap), cap, title, sheet)
    yield from _left_out(len(view.sheets), cap, "sheet")


def _grid(sheet: Sheet, cap: Cap) -> list[list[str]]:
    """Return the top left corner of a sheet: a header and as many rows as are shown."""
    width, height = min(sheet.columns, cap.columns), min(sheet.rows, cap.rows + 1)
    return [
        [_cell(sheet, f"{_letters(column)}{row}") for column in range(1, width + 1)]
        for row in range(1, height + 1)
    ]


def _cell(sheet: Sheet, address: str) -> str:
    cell = sheet.cells.get(address)
    if cell is None:
        return ""
    if cell.value is None:
        return cell.formula or ""
    return f"{cell.value:.10g}" if isinstance(cell.value, float) else str(cell.value)


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _document(view: DocumentView, cap: Cap) -> Iterator[Block]:
    lines = []
    for paragraph in view.paragraphs:
        mark = "" if paragraph.level is None else "#" * max(1, paragraph.level) + " "
        if paragraph.text.strip():
            lines.append(mark + paragraph.text)
    yield _text("\n\n".join(lines), cap)
    yield from _tables(view.tables, cap)
    facts = [formats.plural(view.images, "image")] if view.images else []
    facts += [f"header: {view.header}"] if view.header else []
    facts += [f"footer: {view.footer}"] if view.footer else []
    if facts:
        yield {"kind": "note", "text": shown("; ".join(facts), cap.reason)}


def _pdf(view: PdfView, cap: Cap) -> Iterator[Block]:
    for number, page in enumerate(view.pages[: cap.rows], start=1):
        yield _text(page.text, cap, f"Page {number} of {view.page_count}")
        yield from _tables(page.tables, cap, f"Page {number}, table")
    yield from _left_out(view.page_count, cap, "page")


def _slides(view: SlidesView, cap: Cap) -> Iterator[Block]:
    for number, slide in enumerate(view.slides[: cap.rows], start=1):
        lines = [run.text for run in slide.runs if not run.is_title]
        lines += [f"[{chart} chart]" for chart in slide.charts]
        lines += [f"[{formats.plural(slide.images, 'image')}]"] if slide.images else []
        lines += [f"Notes: {slide.notes}"] if slide.notes else []
        yield _text("\n".join(lines), cap, f"{number}. {slide.title}")
        yield from _tables(slide.tables, cap, f"Slide {number}, table")
    yield from _left_out(len(view.slides), cap, "slide")


def _html(view: HtmlView, cap: Cap) -> Iterator[Block]:
    headings = "\n".join("#" * max(1, h.level or 1) + f" {h.text}" for h in view.headings)
    if headings:
        yield _text(headings, cap, "Headings")
    yield _text(view.text, cap, view.title)
    yield from _tables(view.tables, cap)
    counted = {"link": len(view.links), "image": len(view.images), "script": view.scripts}
    yield _note(", ".join(formats.plural(n, noun) for noun, n in counted.items()))


def _mail(view: MailView, cap: Cap) -> Iterator[Block]:
    yield _text("\n".join(f"{name}: {value}" for name, value in view.headers), cap, "Headers")
    yield _text(view.text, cap)
    if view.attachments:
        rows = [(a.name, a.media_type, f"{a.size_bytes:,} bytes") for a in view.attachments]
        yield _table([("Attachment", "Type", "Size"), *rows], cap)


def _image(view: ImageView, cap: Cap) -> Iterator[Block]:
    facts = f"{view.format}, {view.width:,} × {view.height:,} pixels, {view.mode}"
    yield {"kind": "note", "text": shown(facts, cap.reason)}


def _video(view: VideoView, _cap: Cap) -> Iterator[Block]:
    sound = "with sound" if view.has_sound else "without sound"
    yield _note(
        f"{view.seconds:.2f} s, {view.width:,} × {view.height:,} pixels, "
        f"{view.frames_per_second:.1f} frames a second, {sound}"
    )


def _drawing(view: SvgView, cap: Cap) -> Iterator[Block]:
    yield _text("\n".join(view.texts), cap, view.title)
    counted = ", ".join(f"{name} {count}" for name, count in view.elements.items())
    yield {"kind": "note", "text": shown(counted, cap.reason)}


def _archive(view: ArchiveView, cap: Cap) -> Iterator[Block]:
    rows = [(entry.name, f"{entry.size_bytes:,} bytes") for entry in view.entries]
    yield _table([("File", "Size"), *rows], cap)


def _audio(view: AudioView, _cap: Cap) -> Iterator[Block]:
    yield _note(
        f"{view.seconds:.2f} s, {view.sample_rate:,} Hz, {formats.plural(view.channels, 'channel')}"
        f", peak {view.peak:.3f}, RMS {view.rms:.3f}"
    )


_BLOCKS: Mapping[type[Any], Callable[[Any, Cap], Iterator[Block]]] = {
    UnreadableView: _unreadable,
    TextView: _plain,
    CsvView: _csv,
    JsonView: _json,
    WorkbookView: _workbook,
    DocumentView: _document,
    PdfView: _pdf,
    SlidesView: _slides,
    HtmlView: _html,
    MailView: _mail,
    ImageView: _image,
    AudioView: _audio,
    VideoView: _video,
    SvgView: _drawing,
    ArchiveView: _archive,
}
