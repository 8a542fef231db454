import pytest

from environments.tool_runtime import document
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.document import PLACE, as_document


def test_the_page_is_current():
    written = PLACE.read_text(encoding="utf-8")
    assert written == as_document(), "run python -m environments.tool_runtime.document"


def test_every_tool_has_a_row_and_a_section():
    page = as_document()
    for name in catalogue():
        assert f"| `{name}` | " in page
        assert page.count(f"### {name}\n") == 1


def test_the_table_says_what_a_tool_needs():
    rows = as_document().splitlines()
    assert "| `OCR` | sandbox | RapidOCR | extra `tools-vision` |" in rows
    assert (
        "| `VideoDescription` | host | the configured multimodal model | service `vision`, extra "
        "`tools-vision` |"
    ) in rows


def test_asking_for_help_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(document, "PLACE", tmp_path / "tools.md")
    monkeypatch.setattr("sys.argv", ["document", "--help"])

    with pytest.raises(SystemExit):
        document.main()

    assert "usage: python -m environments.tool_runtime.document" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
