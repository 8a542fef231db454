"""HTML pages, read without running their scripts."""

import re
from pathlib import Path

from bs4 import BeautifulSoup, Comment, Tag

from environments.renderers.limits import MAX_HTML_BYTES, Meter, read_bytes, refuse_beyond
from environments.renderers.text import decode
from environments.renderers.unseen import Unseen
from environments.renderers.web.sight import drop_unseen
from taskdata.schema.views import HtmlView, Paragraph, Table

_UNREAD = ("script", "style", "template", "noscript", "head")
_ACTIVE_LINK = re.compile(r"\s*(javascript|vbscript)\s*:", re.IGNORECASE)
_DATA_URI = re.compile(r"data:[\w.+/-]*", re.IGNORECASE)
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]"
    r"|header|hr|li|main|nav|ol|p|pre|section|table|td|th|tr|ul"
)
_MAX_ATTRIBUTE = 2_000


def read_html(path: Path) -> HtmlView:
    """Return the visible text of the page, its links, images and ids."""
    return html_view(decode(read_bytes(path, MAX_HTML_BYTES)), Meter())


def html_view(source: str, meter: Meter) -> HtmlView:
    """Return the view of a page's source; invisible text is left out and counted."""
    refuse_beyond(len(source), MAX_HTML_BYTES, "characters of HTML")
    page = BeautifulSoup(source, "html.parser")
    title = meter.text(_folded(page.title.get_text()) if page.title else "")
    lang = page.html.get("lang", "") if page.html else ""
    scripts = _scripts(page)
    unseen = Unseen()
    drop_unseen(page, unseen)
    _drop_unread(page)
    ids = _attributes(page, "id", meter)
    links = _attributes(page, "href", meter, "a")
    images = tuple(_image_source(source) for source in _attributes(page, "src", meter, "img"))
    headings = tuple(
        Paragraph(
            text=meter.text(_folded(tag.get_text(" "))), style=tag.name, level=int(tag.name[1])
        )
        for tag in page.find_all(re.compile(r"^h[1-6]$"))
    )
    tables = tuple(_table(tag, meter) for tag in page.find_all("table"))
    for tag in page.find_all(True):
        if _BLOCKS.fullmatch(tag.name):
            tag.append("\n")
    return HtmlView(
        title=title,
        headings=tuple(h for h in headings if h.text),
        text=meter.text(re.sub(r"\s*\n\s*", "\n", page.get_text()).strip()),
        tables=tables,
        links=links,
        images=images,
        ids=ids,
        scripts=scripts,
        lang=str(lang)[:_MAX_ATTRIBUTE],
        hidden=unseen.found(),
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def _attributes(
    page: BeautifulSoup, name: str, meter: Meter, element: str | None = None
) -> tuple[str, ...]:
    tags = page.find_all(element) if element else page.find_all(True)
    values = (str(tag.get(name)) for tag in tags if tag.has_attr(name))
    return tuple(meter.text(value[:_MAX_ATTRIBUTE]) for value in values)


def _image_source(source: str) -> str:
    match = _DATA_URI.match(source)
    return match[0] if match else source


def _scripts(page: BeautifulSoup) -> int:
    """Count script elements, event handlers and script links."""
    count = 0
    for tag in page.find_all(True):
        if tag.name == "script":
            count += 1
        count += sum(name.lower().startswith("on") for name in tag.attrs)
        count += bool(_ACTIVE_LINK.match(str(tag.get("href", ""))))
    return count


def _drop_unread(page: BeautifulSoup) -> None:
    """Remove elements that no browser shows as text."""
    for comment in page.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in page.find_all(_UNREAD):
        tag.extract()


def _table(table: Tag, meter: Meter) -> Table:
    rows = []
    for row in table.find_all("tr"):
        if row.find_parent("table") is not table:
            continue
        cells: list[str] = []
        for cell in row.find_all(["td", "th"], recursive=False):
            text = _folded(cell.get_text(" "))
            cells.append(meter.cell(text))
            cells.extend(meter.cell(text) for _ in range(_span(cell) - 1))
        rows.append(tuple(cells))
    return Table(rows=tuple(rows))


def _span(cell: Tag) -> int:
    """Return how many columns a cell spans, so that later cells stay in their columns."""
    written = str(cell.get("colspan", "1")).strip()
    return (
        min(max(int(written), 1), 64)
        if written.isascii() and written.isdigit() and len(written) < 6
        else 1
    )
