from pptx import Presentation
from pptx.util import Inches


def test_grouped_shapes_and_slides_without_title_are_read(run, workspace):
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    box = group.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1))
    box.text_frame.text = "grouped — ü"
    presentation.save(str(workspace / "input/a.pptx"))
    assert run("ReadPPTX", path="input/a.pptx").text.splitlines() == [
        "input/a.pptx: 1 slide",
        "",
        "== slide 1: (no title)",
        "- grouped — ü",
    ]


def test_what_the_generator_wrote_is_read_back(run, workspace):
    chart = {
        "kind": "line",
        "categories": ["Q1", "Q2"],
        "series": [{"name": "s", "values": [1, 2]}],
    }
    slides = [
        {"title": "One", "bullets": ["first\nline", "second"], "notes": "Say hello"},
        {"title": "Two", "table": [["k", "v"], ["a", 1]], "chart": chart},
    ]
    run("PptxFileGenerator", path="output/a.pptx", slides=slides)
    assert run("ReadPPTX", path="output/a.pptx").text.splitlines() == [
        "output/a.pptx: 2 slides",
        "",
        "== slide 1: One",
        r"- first\nline",
        "- second",
        "notes: Say hello",
        "",
        "== slide 2: Two",
        "| k | v |",
        "| a | 1 |",
        "(chart: line_markers)",
        "|  | Q1 | Q2 |",
        "| s | 1.0 | 2.0 |",
    ]


def test_broken_files_are_refused(refused, workspace):
    path = workspace / "input/a.pptx"
    Presentation().save(str(path))
    path.write_bytes(path.read_bytes()[:5000])
    assert "damaged, or another format" in refused("ReadPPTX", path="input/a.pptx")
    path.write_text("plain text")
    assert "damaged, or another format" in refused("ReadPPTX", path="input/a.pptx")
