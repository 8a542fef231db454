"""Structured views of deliverables: what a renderer read out of an untrusted file.

A renderer parses the file inside a sandbox and hands one of these out; checks, judges and the
dashboard look at views only, never at the file. Every list and text is capped by the renderer.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from taskdata.schema.base import Value


class Table(Value):
    """Rows of cell texts; the first row is the header where the format has one."""

    rows: tuple[tuple[str, ...], ...]


class HiddenText(Value):
    """What a file holds that nobody who opens it sees; no check and no judge is shown it."""

    words: int
    quote: str
    """How it begins."""
    reasons: tuple[str, ...]
    """Why it is not seen: white on white, outside the page, ..."""


class UnreadableView(Value):
    """The file is not what its name says, or could not be parsed within the limits."""

    kind: Literal["unreadable"] = "unreadable"
    reason: str


class TextView(Value):
    """Plain text, Markdown."""

    kind: Literal["text"] = "text"
    text: str


class CsvView(Value):
    """A delimited table."""

    kind: Literal["csv"] = "csv"
    table: Table
    delimiter: str = ","


class JsonView(Value):
    """A JSON document."""

    kind: Literal["json"] = "json"
    value: Any


class Cell(Value):
    """One cell of a worksheet."""

    value: str | float | bool | None
    """Written, or computed by us; dates as ISO text; None: a formula that could not be computed."""
    formula: str | None = None
    """With its leading `=`."""
    number_format: str = "General"
    bold: bool = False
    fill: str | None = None
    """Background as RRGGBB."""


class Sheet(Value):
    """One worksheet, cells by A1 address; empty cells are absent."""

    name: str
    cells: dict[str, Cell]
    rows: int
    columns: int
    charts: tuple[str, ...] = ()
    """Chart types: bar, line, pie, ..."""
    images: int = 0
    frozen: str | None = None
    """Address of the freeze pane."""
    hidden: bool = False
    """Then it has no cells: nobody who opens the workbook sees them."""


class WorkbookView(Value):
    """An XLSX workbook."""

    kind: Literal["xlsx"] = "xlsx"
    sheets: tuple[Sheet, ...]
    hidden: HiddenText | None = None


class Paragraph(Value):
    """A paragraph; `level` 1-9 for headings, 0 for a title, None otherwise."""

    text: str
    style: str = ""
    level: int | None = None


class DocumentView(Value):
    """A DOCX document."""

    kind: Literal["docx"] = "docx"
    paragraphs: tuple[Paragraph, ...]
    tables: tuple[Table, ...] = ()
    images: int = 0
    header: str = ""
    footer: str = ""
    hidden: HiddenText | None = None


class Page(Value):
    """One page of a PDF; sizes in points."""

    text: str
    tables: tuple[Table, ...] = ()
    width: float
    height: float
    images: int = 0


class PdfView(Value):
    """A PDF document."""

    kind: Literal["pdf"] = "pdf"
    pages: tuple[Page, ...]
    title: str = ""
    page_count: int
    hidden: HiddenText | None = None


class TextRun(Value):
    """Text on a slide with its effective size; None where it is inherited from the theme."""

    text: str
    size_pt: float | None = None
    is_title: bool = False


class Slide(Value):
    """One slide."""

    title: str
    runs: tuple[TextRun, ...]
    notes: str = ""
    tables: tuple[Table, ...] = ()
    charts: tuple[str, ...] = ()
    images: int = 0
    overflowing: tuple[str, ...] = ()
    """The beginnings of texts that are estimated to run out of their shape or off the slide."""


class SlidesView(Value):
    """A PPTX presentation."""

    kind: Literal["pptx"] = "pptx"
    slides: tuple[Slide, ...]
    """Hidden ones left out."""
    width_pt: float
    height_pt: float
    hidden: HiddenText | None = None


class HtmlView(Value):
    """An HTML page, without running it."""

    kind: Literal["html"] = "html"
    title: str
    headings: tuple[Paragraph, ...]
    text: str
    tables: tuple[Table, ...] = ()
    links: tuple[str, ...] = ()
    """`href` values in order."""
    images: tuple[str, ...] = ()
    """`src` values, data URIs cut to their media type."""
    ids: tuple[str, ...] = ()
    """`id` attributes in order."""
    scripts: int = 0
    lang: str = ""
    hidden: HiddenText | None = None


class Attachment(Value):
    """A file that came with a message."""

    name: str
    """Empty where the message gives none."""
    media_type: str
    size_bytes: int
    """Decoded."""


class MailView(Value):
    """An e-mail message."""

    kind: Literal["mail"] = "mail"
    headers: tuple[tuple[str, str], ...]
    """Name and decoded value, in order; a name may come more than once."""
    text: str
    attachments: tuple[Attachment, ...] = ()


class ImageView(Value):
    """A raster image."""

    kind: Literal["image"] = "image"
    format: str
    """PNG, JPEG, ..."""
    width: int
    height: int
    mode: str
    dpi: float | None = None
    grid: tuple[tuple[str, ...], ...]
    """32 x 32 mean colours as RRGGBB, row by row from the top left."""
    colours: dict[str, float]
    """Share (0-1) of pixels by colour, quantised to 16 levels a channel; the 64 commonest."""
    mean_luminance: float
    """0 black - 255 white."""
    contrast: float
    """Standard deviation of luminance."""
    has_alpha: bool = False


class VideoView(Value):
    """A video, in numbers; what is in it is in its pictures and in what is heard."""

    kind: Literal["video"] = "video"
    seconds: float
    width: int
    height: int
    frames_per_second: float
    has_sound: bool


class SvgView(Value):
    """A vector drawing, without running it."""

    kind: Literal["svg"] = "svg"
    width: float | None = None
    height: float | None = None
    title: str = ""
    texts: tuple[str, ...] = ()
    """What is written in it, in order."""
    elements: dict[str, int] = Field(default_factory=dict)
    """Number of elements by their name: path, rect, ..."""
    hidden: HiddenText | None = None


class ArchiveEntry(Value):
    """A file in an archive."""

    name: str
    size_bytes: int
    """Unpacked, as the archive states."""


class ArchiveView(Value):
    """The list of what is in an archive; nothing is unpacked."""

    kind: Literal["archive"] = "archive"
    entries: tuple[ArchiveEntry, ...]


class AudioView(Value):
    """A sound file."""

    kind: Literal["audio"] = "audio"
    seconds: float
    sample_rate: int
    channels: int
    peak: float
    """Largest absolute sample, 0-1."""
    rms: float
    envelope: tuple[float, ...]
    """RMS of consecutive 100 ms windows, channels mixed."""


View = Annotated[
    UnreadableView
    | TextView
    | CsvView
    | JsonView
    | WorkbookView
    | DocumentView
    | PdfView
    | SlidesView
    | HtmlView
    | MailView
    | ImageView
    | AudioView
    | VideoView
    | SvgView
    | ArchiveView,
    Field(discriminator="kind"),
]


class PagePictures(Value):
    """Pictures of a file, drawn inside the sandbox.

    They are of its first pages; of a video, at equal distances; of a picture, the picture itself.
    """

    pictures: tuple[str, ...] = ()
    """Sha256 of a PNG for each page, in order."""
    page_count: int = 0
    """Of the file: there may be more pages than pictures."""
    reason: str = ""
    """Why there is no picture."""


class Heard(Value):
    """What a speech recogniser heard in a recording or a video."""

    text: str = ""
    """One line for each segment, with its times; empty: no speech."""
    reason: str = ""
    """Why there is no transcript."""
    clip_sha256: str | None = None
    """A WAV recording of its beginning, 16 kHz and mono, for models that hear."""


class PictureTexts(Value):
    """What a text recogniser read in the pictures of a file."""

    texts: tuple[str, ...] = ()
    """Of the first pictures, in order."""
    reason: str = ""
    """Why not all of it was read."""


class RenderedDeliverable(Value):
    """A deliverable's view, with a small picture where one can be made."""

    name: str
    sha256: str
    """Of the deliverable."""
    view: View
    preview_png_sha256: str | None = None
    """A thumbnail of at most 480 pixels a side, re-encoded inside the sandbox."""
    pages: PagePictures | None = None
    """None of files without pages, and where nothing could draw them."""
    heard: Heard | None = None
    """None of files without sound, and where no judge wants to know."""
    lettering: PictureTexts | None = None
    """None of files without pictures, and where no judge sees them."""
