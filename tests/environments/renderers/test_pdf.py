import io

import pytest
from PIL import Image
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

from environments.renderers.limits import Unreadable
from environments.renderers.pdf import preview_pdf, read_pdf


def test_pdf_pages_with_text_table_and_size(tmp_path):
    style = getSampleStyleSheet()["Normal"]
    table = Table([["Region", "Revenue"], ["North", "1,234"]])
    table.setStyle([("GRID", (0, 0), (-1, -1), 1, colors.black)])
    story = [Paragraph("First page", style), table, PageBreak(), Paragraph("Second page", style)]
    path = tmp_path / "report.pdf"
    SimpleDocTemplate(str(path), pagesize=A4, title="Quarter").build(story)
    view = read_pdf(path)
    assert (view.page_count, view.title) == (2, "Quarter")
    assert "First page" in view.pages[0].text
    assert view.pages[0].tables[0].rows == (("Region", "Revenue"), ("North", "1,234"))
    assert round(view.pages[1].width) == 595
    assert Image.open(io.BytesIO(preview_pdf(path))).size[1] == 480


def test_a_pdf_by_name_only_is_unreadable(tmp_path):
    path = tmp_path / "report.pdf"
    path.write_bytes(b"<html>no PDF</html>")
    with pytest.raises(Unreadable, match="not that of a PDF"):
        read_pdf(path)
