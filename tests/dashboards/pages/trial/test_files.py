"""Deliverables as a trial's page shows them."""

import pytest

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.files import deliverable, input_file, save_as
from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable
from taskdata.schema.views import PagePictures, RenderedDeliverable, TextView


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("report.xlsx", "report.xlsx"),
        ("figures/plan (2).png", "plan (2).png"),
        ("<img src=x onerror=alert(1)>.txt", "_img src=x onerror=alert(1)_.txt"),
        ("a\"b'c&d.html", "a_b_c_d.html"),
        ("Übersicht 2026.xlsx", "Übersicht 2026.xlsx"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("..\\..\\autoexec.bat", "_.._autoexec.bat"),
        ("cod\u202egpj.exe", "cod_gpj.exe"),
        ("two\nlines.txt", "two_lines.txt"),
        ("\x1b[2J.txt", "_[2J.txt"),
        ("x" * 300 + ".csv", "x" * 116 + ".csv"),
    ],
)
def test_a_file_is_saved_under_a_harmless_name(name, saved):
    assert save_as(name) == saved


@pytest.mark.parametrize(
    ("name", "recording"),
    [("a.WAV", "wav"), ("a.mp4", "mp4"), ("a.html", None), ("a.svg", None), ("wav", None)],
)
def test_only_known_endings_are_played(name, recording):
    file = Deliverable(name=name, sha256="a" * 64, size_bytes=3)
    assert deliverable(file, None, CAPS[0])["recording"] == recording


@pytest.mark.parametrize(
    ("count", "note"), [(2, ""), (3, "1 more page, not drawn"), (12, "10 more pages, not drawn")]
)
def test_pages_that_were_not_drawn_are_counted(count, note):
    file = Deliverable(name="a.pdf", sha256="a" * 64, size_bytes=3)
    pages = PagePictures(pictures=("b" * 64, "c" * 64), page_count=count)
    view = TextView(text="")
    rendered = RenderedDeliverable(name="a.pdf", sha256="a" * 64, view=view, pages=pages)
    found = deliverable(file, rendered, CAPS[0])
    assert found["pages"] == ["b" * 64, "c" * 64]
    assert found["pages_note"] == note


def test_an_input_file_has_a_name_to_save_it_under_and_is_played():
    file = InputFile(path="calls/day 1.wav", sha256="a" * 64, size_bytes=2_000)
    assert input_file(file, CAPS[0]) == {
        "name": "calls/day 1.wav",
        "facts": "2.0 kB",
        "sha256": "a" * 64,
        "save_as": "day 1.wav",
        "recording": "wav",
    }
