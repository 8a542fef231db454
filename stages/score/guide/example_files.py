"""The files, as their views, and the answer that the examples of checks look at."""

from taskdata.schema.views import (
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextRun,
    TextView,
    VideoView,
    View,
    WorkbookView,
)

REGIONS = Table(
    rows=(("Region", "Revenue"), ("North", "1,234.50"), ("South", "€ 99"), ("Total", "1,333.5"))
)
VIEWS: dict[str, View] = {
    "memo.docx": DocumentView(
        paragraphs=(
            Paragraph(text="Supplier memo", level=0),
            Paragraph(text="1. Findings", level=1),
            Paragraph(text="Three suppliers failed in 2025.\nCost: 1,420 EUR"),
            Paragraph(text="2. Next steps", level=1),
        ),
        tables=(Table(rows=(("a",), ("b",))), REGIONS),
        images=1,
        footer="Page 1, confidential",
    ),
    "report.pdf": PdfView(
        pages=(
            Page(text="Annual report", tables=(REGIONS,), width=595.3, height=841.9),
            Page(
                text="Outlook",
                tables=(Table(rows=(("Region", "Revenue"), ("West", "7"))),),
                width=595.3,
                height=841.9,
            ),
        ),
        page_count=2,
    ),
    "notes.md": TextView(text="# One\ntext\n```\n# no heading\n```\nTwo\n---\nmore words here"),
    "page.html": HtmlView(
        title="Shop",
        headings=(Paragraph(text="Offers", level=1), Paragraph(text="Contact", level=2)),
        text="Offers\nContact\nBuy now",
        tables=(REGIONS,),
        links=("https://example.org/shop?x=1", "mailto:a@example.org"),
        images=("data:image/png", "https://cdn.example.org/x.png"),
        ids=("offers", "contact"),
        scripts=1,
        lang="en-GB",
    ),
    "book.xlsx": WorkbookView(
        sheets=(
            Sheet(
                name="Regions",
                cells={
                    "A1": Cell(value="Revenue report"),
                    "A3": Cell(value="Region", bold=True),
                    "B3": Cell(value="Revenue", bold=True),
                    "A4": Cell(value="North"),
                    "B4": Cell(value=1234.5, number_format="#,##0.00"),
                    "A5": Cell(value="South"),
                    "B5": Cell(value=99.0, number_format="#,##0.00"),
                    "A6": Cell(value="Total"),
                    "B6": Cell(value=1333.5, formula="=SUM(B4:B5)"),
                },
                rows=6,
                columns=2,
                charts=("bar",),
            ),
            Sheet(name="Notes", cells={}, rows=0, columns=0),
        )
    ),
    "data.csv": CsvView(
        table=Table(
            rows=(
                ("id", "day", "amount", "note"),
                ("1", "2026-01-01", "10.5", ""),
                ("2", "2026-01-02", "20", "late"),
                ("2", "02.01.2026", "30", "x"),
            )
        )
    ),
    "out.json": JsonView(
        value={
            "total": 1333.5,
            "ok": True,
            "none": None,
            "days": ["2026-01-01", "2026-01-02"],
            "items": [{"sku": 7, "stock": 3}, {"sku": "A-1", "stock": 4}, {"sku": 7, "stock": 99}],
        }
    ),
    "deck.pptx": SlidesView(
        slides=(
            Slide(
                title="Results",
                runs=(
                    TextRun(text="Results", size_pt=36, is_title=True),
                    TextRun(text="North grew by 12 %", size_pt=20),
                ),
                notes="Say hello to everybody first",
                charts=("pie",),
            ),
            Slide(
                title="Plan",
                runs=(TextRun(text="one two three four five six", size_pt=None),),
                images=1,
            ),
        ),
        width_pt=720,
        height_pt=540,
    ),
    "talk.pptx": SlidesView(
        slides=(
            Slide(
                title="Trams",
                runs=(TextRun(text="Every line of the town and all of its stops", size_pt=60),),
                overflowing=("Every line of the town and all of its stops",),
            ),
        ),
        width_pt=720,
        height_pt=540,
    ),
    "flag.png": ImageView(
        format="PNG",
        width=320,
        height=200,
        mode="RGB",
        grid=(("0000FF",) * 32,) * 16 + (("FF0000",) * 32,) * 16,
        colours={"0000FF": 0.5, "FF0000": 0.5},
        mean_luminance=50,
        contrast=23,
    ),
    "chime.wav": AudioView(
        seconds=2.0,
        sample_rate=8000,
        channels=1,
        peak=0.7,
        rms=0.3,
        envelope=(0.5,) * 10 + (0.0,) * 10,
    ),
    "tour.mp4": VideoView(
        seconds=12.0, width=640, height=360, frames_per_second=25.0, has_sound=False
    ),
}
ANSWER = "North leads with €1,234.50, about 12 % more than South."
